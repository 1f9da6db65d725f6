"""The pytest plugin: what its assertions say, and whole sessions of pytest with it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from areopagus import Panel
from areopagus.errors import InputError, ProviderError
from areopagus.integrations.evaluator import PanelEvaluator
from areopagus.integrations.pytest_plugin import PanelChecks
from areopagus.run import Run
from areopagus.testing import ScriptedBackend

MODULE = "areopagus.integrations.pytest_plugin"
PROMPT = "Should voting be compulsory?"
RESPONSE = "Turnout is a duty to some, but a forced vote may express nothing at all."
SPREAD = [{"overall": score} for score in (5, 6, 7, 5, 6, 7, 5, 6, 7, 6)]
"""Ten judgments with a mean of 6."""

Checks = Callable[..., PanelChecks]


@pytest.fixture
def checks(tmp_path: Path, no_report: None) -> Iterator[Checks]:
    opened: list[PanelEvaluator] = []

    def made(answers: Any, **settings: Any) -> PanelChecks:
        backend = ScriptedBackend(answers, cost_usd=settings.pop("cost_usd", 0.0))
        panel = Panel(backend, mode="holistic", ledger=tmp_path / "ledger.sqlite")
        opened.append(PanelEvaluator(panel, out=tmp_path / f"run{len(opened)}", **settings))
        return PanelChecks(opened[-1])

    yield made
    for one in opened:
        one.close()


# One response ------------------------------------------------------------------------------------


def test_it_holds_where_the_lower_limit_is_at_least_the_bound(checks: Checks) -> None:
    panel = checks(SPREAD)
    low, high = panel.score(PROMPT, RESPONSE).interval or (0, 0)
    assert low < 6 < high
    panel.assert_thinks_at_least(RESPONSE, PROMPT, low)
    panel.assert_thinks_at_least(RESPONSE, PROMPT, low - 0.1, criterion="overall")


def test_it_fails_where_the_upper_limit_is_below_and_says_so_first(checks: Checks) -> None:
    panel = checks(SPREAD)
    with pytest.raises(AssertionError) as failed:
        panel.assert_thinks_at_least(RESPONSE, PROMPT, 9)
    first, second, *_, third, fourth = str(failed.value).splitlines()
    assert first.startswith("thinks less than 9: composite 6.00, 95% [5.")
    assert second == "10 scored of 10 planned judgments"
    assert str(panel.evaluator.out / "report.html") in third
    assert fourth.endswith(panel.score(PROMPT, RESPONSE).response_id)


def test_it_skips_where_the_interval_contains_the_bound(checks: Checks) -> None:
    with pytest.raises(pytest.skip.Exception, match=r"inconclusive: composite 6\.00.* bound 6"):
        checks(SPREAD).assert_thinks_at_least(RESPONSE, PROMPT, 6)


def test_it_skips_with_the_reason_where_there_is_no_verdict(checks: Checks) -> None:
    panel = checks([*SPREAD[:3], ProviderError("bad_request", "no")])
    with pytest.raises(pytest.skip.Exception, match="no score: inconclusive: 3 of 10"):
        panel.assert_thinks_at_least(RESPONSE, PROMPT, 1)
    with pytest.raises(pytest.skip.Exception, match="no score: screened: empty"):
        panel.assert_thinks_at_least("", PROMPT, 1)


def test_judges_that_all_agree_give_both_limits(checks: Checks) -> None:
    panel = checks({"overall": 7})
    panel.assert_thinks_at_least(RESPONSE, PROMPT, 7)
    panel.assert_thinks_at_least(RESPONSE, PROMPT, 7 + 1e-12)  # a sum in another order
    with pytest.raises(AssertionError, match=r"thinks less than 7\.5: overall 7\.00"):
        panel.assert_thinks_at_least(RESPONSE, PROMPT, 7.5, criterion="overall")


def test_a_single_judge_shows_nothing(tmp_path: Path, no_report: None) -> None:
    backend = ScriptedBackend({"overall": 9})
    panel = Panel(backend, personas=["historian"], mode="holistic", ledger=tmp_path / "l.sqlite")
    with PanelEvaluator(panel, out=tmp_path / "run") as evaluator:
        with pytest.raises(pytest.skip.Exception, match="no interval"):
            PanelChecks(evaluator).assert_thinks_at_least(RESPONSE, PROMPT, 2)


@pytest.mark.parametrize("bound", [0, 11, float("nan")])
def test_a_bound_outside_the_scale_is_turned_down_before_anybody_is_asked(
    checks: Checks, bound: float
) -> None:
    panel = checks(SPREAD)
    with pytest.raises(InputError, match="bound must be from 1 to 10"):
        panel.assert_thinks_at_least(RESPONSE, PROMPT, bound)
    with pytest.raises(InputError, match="criterion must be one of composite, overall"):
        panel.assert_thinks_at_least(RESPONSE, PROMPT, 5, criterion="wit")
    assert panel.tally().n_responses == 0


def test_what_the_cap_leaves_out_is_skipped_with_that_reason(checks: Checks) -> None:
    panel = checks({"overall": 7}, cost_usd=0.01, max_cost=0.15)
    panel.assert_thinks_at_least(RESPONSE, PROMPT, 5)
    with pytest.raises(pytest.skip.Exception, match=r"not asked because of: budget"):
        panel.assert_thinks_at_least(f"{RESPONSE} Perhaps.", PROMPT, 5)
    told = panel.tally()
    assert (told.n_responses, told.n_planned) == (2, 20)
    assert 10 <= told.n_scored <= 15
    assert told.spent_usd <= 0.15


# Two runs ----------------------------------------------------------------------------------------


def run_of(tmp_path: Path, name: str, change: Callable[[int], int]) -> Run:
    """Twelve prompts with scores from 5 to 7, changed by so much."""

    def answer(request: Any) -> Any:
        text = str(request.messages)
        number = next(n for n in range(12) if f"number {n}." in text)
        return {"overall": 5 + number % 3 + change(number)}

    rows = [
        {
            "response_id": f"r{n}",
            "prompt_id": f"p{n}",
            "prompt_text": f"{PROMPT} ({n})",
            "response_text": f"A vote, {name}, number {n}.",
            "respondent_id": "model",
        }
        for n in range(12)
    ]
    ledger = tmp_path / f"{name}.sqlite"
    with Panel(ScriptedBackend(answer), mode="holistic", ledger=ledger) as panel:
        return panel.score_many(rows, out=tmp_path / name, on_progress=False)


def test_a_run_is_not_worse_or_worse_or_it_is_not_known(
    tmp_path: Path, checks: Checks, no_report: None
) -> None:
    panel = checks(SPREAD)
    earlier = run_of(tmp_path, "old", lambda n: 0)
    better = run_of(tmp_path, "better", lambda n: 1 + n % 2)
    panel.assert_not_worse(better, earlier, 0.2)
    panel.assert_not_worse(better.path, str(earlier.path), 0.2)
    worse = run_of(tmp_path, "bad", lambda n: -2 - n % 2)
    with pytest.raises(AssertionError) as failed:
        panel.assert_not_worse(worse, earlier, 0.2)
    first, last = str(failed.value).splitlines()
    assert first.startswith("FAILED: by this panel, bad is worse than old, ")
    assert "over 12 prompts" in first
    assert last == f"Report: {worse.path / 'report.html'}"
    mixed = run_of(tmp_path, "mixed", lambda n: 1 if n % 2 else -1)
    with pytest.raises(
        pytest.skip.Exception,
        match="inconclusive: UNDECIDED: by this panel, mixed is neither shown to be worse",
    ):
        panel.assert_not_worse(mixed, earlier, 0.2)
    assert panel.tally().n_responses == 0, "nobody is asked"


# Whole sessions ----------------------------------------------------------------------------------


def started(folder: Path, *arguments: str, **files: str) -> list[str]:
    """The lines that a session of pytest shows, in a process of its own.

    Not with the fixture `pytester`: it forgets the modules that are loaded meanwhile, and pandas
    cannot be loaded twice.
    """
    for name, text in files.items():
        place = folder / f"{name}.py"
        place.write_text(textwrap.dedent(text), encoding="utf-8")
    is_installed = any(one.value == MODULE for one in entry_points(group="pytest11"))
    plugins = () if is_installed else (MODULE,)
    others = ("no:langsmith_plugin", "no:asyncio", "no:hypothesispytest", *plugins)
    named = [word for name in others for word in ("-p", name)]
    command = [sys.executable, "-m", "pytest", *named, "-rs", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    print(done.stdout, done.stderr)
    return done.stdout.splitlines()


def shows(lines: list[str], *patterns: str) -> None:
    """Fails where the patterns are not found in the lines, in this order."""
    left = iter(lines)
    for pattern in patterns:
        assert any(fnmatch(line, pattern) for line in left), f"not shown (here): {pattern}"


WITHOUT_REPORTS = """
import pytest
from areopagus.run import Run

Run.write_report = lambda run, **_: run.report_path  # it takes longer than all the rest
"""


def test_a_session_has_a_passing_a_failing_and_skipped_tests(tmp_path: Path) -> None:
    (tmp_path / "panel.yaml").write_text(
        "models: [offline/lexical]\npersonas: [sociologist, moral_philosopher, historian]\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\nareopagus_panel = panel.yaml\n")
    tests = f"""
        PROMPT, RESPONSE = {PROMPT!r}, {RESPONSE!r}

        def test_holds(panel):
            panel.assert_thinks_at_least(RESPONSE, PROMPT, 1)

        def test_fails(panel):
            panel.assert_thinks_at_least(RESPONSE, PROMPT, 9)

        def test_neither(panel):
            bound = panel.score(PROMPT, RESPONSE).composite
            panel.assert_thinks_at_least(RESPONSE, PROMPT, bound)

        def test_empty(panel):
            panel.assert_thinks_at_least("", PROMPT, 1)
    """
    shown = started(tmp_path, "-n0", conftest=WITHOUT_REPORTS, test_it=tests)
    shows(
        shown,
        ">*panel.assert_thinks_at_least(RESPONSE, PROMPT, 9)",
        "E*AssertionError: thinks less than 9: composite *",
        "E*3 scored of 3 planned judgments",
        "E*DEMONSTRATION: *",
        "*= areopagus =*",
        "3 scored of 6 planned judgments on 2 responses; $0",
        "DEMONSTRATION: *",
        "Report: .pytest_cache*report.html",
        "SKIPPED*inconclusive: composite *",
        "SKIPPED*no score: screened: empty",
        "*1 failed, 1 passed, 2 skipped in *",
    )
    (run,) = (tmp_path / ".pytest_cache" / "d" / "areopagus").iterdir()
    assert len(Run(run).scores) == 2


@pytest.mark.long
def test_workers_share_the_cap_and_have_folders_of_their_own(tmp_path: Path) -> None:
    panel = """
from areopagus import Panel
from areopagus.testing import ScriptedBackend

@pytest.fixture(scope="session")
def areopagus_panel(tmp_path_factory):
    ledger = tmp_path_factory.mktemp("ledger") / "ledger.sqlite"
    backend = ScriptedBackend({"overall": 7}, cost_usd=0.01)
    return Panel(backend, mode="holistic", ledger=ledger)
"""
    tests = f"""
        import pytest

        @pytest.mark.parametrize("n", range(6))
        def test_each(panel, n):
            panel.assert_thinks_at_least(f"{RESPONSE} {{n}}", {PROMPT!r}, 5)
    """
    options = ("-n2", "--areopagus-max-cost=0.25", "--areopagus-out=kept")
    shown = started(tmp_path, *options, conftest=WITHOUT_REPORTS + panel, test_it=tests)
    shows(
        shown,
        "2? scored of 60 planned judgments on 6 responses; $0.2* of $0.2500",
        "Report: kept/gw0/report.html",
        "Report: kept/gw1/report.html",
        "SKIPPED*not asked because of: budget",
        "*2 passed, 4 skipped in *",
    )
    assert not any(line.startswith("DEMONSTRATION") for line in shown)
    costs = [Run(folder).scores["cost_usd"].sum() for folder in (tmp_path / "kept").iterdir()]
    assert len(costs) == 2
    assert max(costs) <= 0.125 + 1e-9


def test_where_it_is_not_used_it_loads_nothing_and_writes_nothing(tmp_path: Path) -> None:
    program = (
        "import sys, pytest, argparse, dataclasses, shutil\n"
        "before = set(sys.modules)\n"
        f"import {MODULE}\n"
        "print(*sorted(set(sys.modules) - before))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.split() == [
        "areopagus", "areopagus.integrations", MODULE, "areopagus.lazy"
    ]  # fmt: skip
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("amount", ["-1", "nan", "inf", "much"])
def test_a_cap_that_is_no_amount_is_turned_down(amount: str) -> None:
    from argparse import ArgumentTypeError

    from areopagus.integrations.pytest_plugin import _amount

    with pytest.raises(ArgumentTypeError, match="must be an amount of US dollars"):
        _amount(amount)
    assert _amount("0") == 0
