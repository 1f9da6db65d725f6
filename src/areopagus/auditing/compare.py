"""One audit before and after: two runs on the prompts that both asked, tested as pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..audits.definition import Definition
from ..errors import InputError, InputFault
from ..formats import estimate as shown
from ..formats import listed, units
from ..records.estimates import estimate_of, select
from ..reports.document import Document
from .run import AuditRun

if TYPE_CHECKING:
    import pandas as pd

_DIFFERS = ("differs", "differs within margin")


def compare_audits(before: str | Path, after: str | Path) -> tuple[Document, pd.DataFrame]:
    """What has changed between two runs of one audit, and every figure of it.

    Models are paired by name, or the only ones with each other. Figures rest on the prompts that
    both runs asked, letter for letter; a difference is after less before.

    Raises:
        InputError: two audits, or no model or no prompt in common.
    """
    import pandas as pd

    from ..audits.document import document_of_tables
    from ..audits.estimate import columns_of, estimate

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
    frames = [
        frame[frame["item_id"].isin(common)]
        for frame in (run.answers.frame(columns_of(definition)) for run in runs)
    ]
    found: list[pd.DataFrame] = []
    names: list[str] = []
    for pair in pairs:
        labels = [
            when if len(pairs) == 1 else f"{name}, {when}"
            for name, when in zip(pair, ("after", "before"), strict=True)
        ]
        rows = pd.concat(
            [
                frame[frame["target"] == name].assign(target=label)
                for frame, name, label in zip(frames, pair, labels, strict=True)
            ],
            ignore_index=True,
        ).drop(columns="prompt")
        mine = estimate(definition, rows, labels).frame()
        # The mean of before and after is nobody's.
        is_whole = mine["respondent"].isna() & (mine["table"] != "judges")
        found.append(mine[~is_whole | (mine["table"] == "models")] if len(pairs) == 1 else
                     mine[~is_whole])  # fmt: skip
        names += labels
    whole = pd.concat(found, ignore_index=True)
    n_left = sum(len(set(run.answers.columns("item_id")["item_id"]) - common) for run in runs)
    notices = [f"{units(n_left, 'prompt')} of one run alone are left out"] if n_left else []
    record = {
        "targets": names,
        "state": "complete",
        "identity": {},
        "result": {**runs[0].record.get("result", {}), "notices": notices, "cost_cap": None},
    }
    made = document_of_tables(definition, record, whole)
    labels_of = runs[0].record.get("result", {}).get("labels", {})
    headline = list(_headline(definition, whole, labels_of))
    title = f"{definition.title}: before and after"
    return replace(made, title=title, headline=headline, trust=_trust(made.trust)), whole


def _common_items(runs: Sequence[AuditRun]) -> set[str]:
    """The items whose prompts are the same in both runs."""
    prompts = [dict(_prompts(run)) for run in runs]
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


def _headline(
    definition: Definition, whole: pd.DataFrame, labels: Mapping[str, Mapping[str, str]]
) -> Iterator[str]:
    """What has changed, outcome by outcome and contrast by contrast."""
    said = []
    rows = select(whole, "models")
    for row in rows[rows["measure"] == "difference"].to_dict("records"):
        outcome = definition.outcomes[row["factor"]]
        said.append((f"{outcome.title}{_whose(row)}", estimate_of(row), outcome.digits))
    for name, contrast in definition.contrasts.items():
        named = labels.get(contrast.factor[-1], {})
        rows = select(whole, f"{name}_models")
        for row in rows[rows["measure"] == "difference"].to_dict("records"):
            group = named.get(row["group"], row["group"])
            what = f"{contrast.title} of {group}{_whose(row)}"
            said.append((what, estimate_of(row), contrast.digits))
    changed = [one for one in said if one[1].verdict in _DIFFERS]
    for what, figure, digits in sorted(changed, key=lambda one: -abs(one[1].value))[:6]:
        text = f"{what}: {shown(figure, digits, is_signed=True)} after less before."
        yield f"{text[:1].upper()}{text[1:]}"
    if len(said) > len(changed):
        rest = len(said) - len(changed)
        of = f"of {rest} other differences" if changed else f"of {units(rest, 'difference')}"
        yield f"No change is shown {of}."


def _whose(row: Mapping[Any, Any]) -> str:
    name, _, when = str(row["respondent"]).rpartition(", ")
    return f", {name}" if when and name else ""


def _trust(trust: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """What is said of single runs, and of several models, is left out."""
    return [(word, text) for word, text in trust if word not in ("judges", "direction")]
