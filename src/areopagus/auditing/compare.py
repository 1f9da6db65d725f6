"""One audit before and after: two runs on the prompts that both asked, tested as pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ..audits.answers_table import ANSWERS_FILE, AnswersTable, write_joined
from ..audits.definition import Definition
from ..errors import InputError, InputFault
from ..formats import listed, units
from ..reports.document import Document
from .run import AuditRun, estimated_by_definition

if TYPE_CHECKING:
    import pandas as pd

_WHEN = ("after", "before")


def compare_audits(before: str | Path, after: str | Path) -> tuple[Document, pd.DataFrame]:
    """What has changed between two runs of one audit, and every figure of it.

    Models are paired by name, or the only ones with each other; a difference is after less before.
    Figures rest on the prompts that both runs asked, letter for letter. So do those that the
    audit's class estimates, where it came with the package; of an audit whose code is the user's
    own, they are those of each run by itself.

    Raises:
        InputError: two audits, or no model or no prompt in common.
    """
    import pandas as pd

    from ..audits.document import comparison

    runs = AuditRun(after), AuditRun(before)
    definitions = [run.definition for run in runs]
    definition = definitions[0]
    if definition.name != definitions[1].name:
        fault = f"is the audit {definitions[1].name!r}, {runs[0].path} is {definition.name!r}"
        raise InputError([InputFault(str(runs[1].path), fault)])
    common = _common_items(runs)
    if not common:
        raise InputError([InputFault(str(runs[1].path), "no prompt is the same in both runs")])
    pairs = _pairs(runs)
    when: dict[str, tuple[str, str]] = {}
    found: list[pd.DataFrame] = []
    notices: list[str] = []
    for pair in pairs:
        labels = [
            when_ if len(pairs) == 1 else f"{name}, {when_}"
            for name, when_ in zip(pair, _WHEN, strict=True)
        ]
        when |= dict(zip(labels, zip(pair, _WHEN, strict=True), strict=True))
        mine, own = _estimates(runs, definition, pair, labels, common)
        # The mean of before and after is nobody's; tests of several are of the two.
        kept = mine["respondent"].isin(labels)
        found.append(mine[kept | (mine["table"] == "models")] if len(pairs) == 1 else mine[kept])
        notices = [own] if own else notices
    n_left = sum(len(set(run.answers.frame(["item_id"])["item_id"]) - common) for run in runs)
    if n_left:
        notices.append(f"{units(n_left, 'prompt')} of one run alone are left out")
    whole = pd.concat(found, ignore_index=True)
    result = {**runs[0].record.get("result", {}), "notices": notices, "cost_cap": None}
    record = {"targets": list(when), "state": "complete", "identity": {}, "result": result}
    return comparison(definition, record, whole, when), whole


def _estimates(
    runs: Sequence[AuditRun],
    definition: Definition,
    pair: Sequence[str],
    labels: Sequence[str],
    common: set[str],
) -> tuple[pd.DataFrame, str]:
    """Every figure of a model after and before, and what is to be said of those of the class."""
    with TemporaryDirectory(prefix="areopagus-") as folder:
        given = [
            (run.path / ANSWERS_FILE, name, label)
            for run, name, label in zip(runs, pair, labels, strict=True)
        ]
        write_joined(Path(folder) / ANSWERS_FILE, given, common)
        answers = AnswersTable(folder, labels)
        found = estimated_by_definition(definition, answers)
        known = runs[0].known_audit
        try:
            own = None if known is None else known[0].own_estimates(answers, known[1])
        except InputError:  # a file that its options name is gone
            own = known = None
        if own is not None:
            found.extend(own)
    frame = found.frame()
    if known is not None or not definition.tables:
        return frame, ""
    said = "figures of the audit's own code are those of each run, over all of its prompts"
    return _with_stored(frame, runs, definition, pair, labels), said


def _with_stored(
    frame: pd.DataFrame,
    runs: Sequence[AuditRun],
    definition: Definition,
    pair: Sequence[str],
    labels: Sequence[str],
) -> pd.DataFrame:
    """The figures of the class as each run has them."""
    import pandas as pd

    own = {name for name, outcome in definition.outcomes.items() if outcome.of is None}
    tables = {table.table for table in definition.tables} - {"outcomes"}
    parts = [frame]
    for run, name, label in zip(runs, pair, labels, strict=True):
        rows = run.estimates
        is_own = rows["table"].isin(tables)
        is_own |= (rows["table"] == "outcomes") & rows["measure"].isin(own)
        rows = rows[is_own & (rows["respondent"] == name) & ~rows["baseline"].isin(run.targets)]
        parts.append(rows.assign(respondent=label))
    return pd.concat(parts, ignore_index=True)


def _common_items(runs: Sequence[AuditRun]) -> set[str]:
    """The items whose prompts are the same in both runs."""
    prompts: list[Mapping[str, int]] = [dict(_prompts(run)) for run in runs]
    return {item for item, text in prompts[0].items() if prompts[1].get(item) == text}


def _prompts(run: AuditRun) -> Iterator[tuple[str, int]]:
    for row in run.answers.rows("item_id", "prompt_text"):
        yield row["item_id"], hash(row["prompt_text"])


def _pairs(runs: Sequence[AuditRun]) -> list[tuple[str, str]]:
    one, other = (run.targets for run in runs)
    same = [(name, name) for name in one if name in other]
    if same:
        return same
    if len(one) == len(other) == 1:
        return [(one[0], other[0])]
    fault = f"has {listed(other)}, {runs[0].path} has {listed(one)}: no model in common"
    raise InputError([InputFault(str(runs[1].path), fault)])
