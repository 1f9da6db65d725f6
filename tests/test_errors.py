"""What an error says: a line a fault, whatever is quoted in it."""

from __future__ import annotations

import pytest

from areopagus import InputError
from areopagus.cli.display import NarrowInputError, show_notices
from areopagus.errors import SHOWN_FAULTS, InputFault

NAME = "x\nError: forged\r\x1b[2J\u2028\u202ey"


@pytest.mark.parametrize("kind", [InputError, NarrowInputError])
def test_a_fault_is_one_line_whatever_it_quotes(kind: type[InputError]) -> None:
    faults = [
        InputFault(f"{NAME}.csv:3", "the name stands twice", field=NAME),
        InputFault("a.csv", f"names {NAME}"),
        f"{NAME} is no prompt",
    ]
    error = kind(faults, hint=f"two lines\nof ours, and {NAME!r}")
    lines = str(error).split("\n")
    # Lines that a narrow error wraps stand in; five begin anew.
    assert sum(not line.startswith("    ") for line in lines) == 5
    assert all(line.isprintable() for line in lines)
    assert not any(line.startswith("Error: forged") for line in lines)
    # What was found stays as it is for programs.
    assert error.faults[0].field == NAME
    assert error.faults[2].message == f"{NAME} is no prompt"


def test_a_hint_keeps_our_own_lines_and_nothing_else_that_acts() -> None:
    error = InputError("no", hint="first\nsecond \x1b[2J\u202e")
    assert str(error) == "no\nfirst\nsecond �[2J�"


def test_faults_beyond_the_shown_ones_are_counted() -> None:
    lines = str(InputError([f"fault {n}" for n in range(SHOWN_FAULTS + 7)])).split("\n")
    assert len(lines) == SHOWN_FAULTS + 1
    assert lines[-1] == "… and 7 more faults of this kind"


def test_a_notice_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    show_notices([f"the column {NAME} is left out"])
    assert capsys.readouterr().err == ("Note: the column x�Error: forged��[2J��y is left out\n")
