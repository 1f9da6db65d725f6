"""BBQ's items without their redundancy: one scenario a category and question.

The paper's three steps: ambiguous contexts only; the negative question only; one item for each
category and question_index. Of the items of a pair the one with the smallest example_id is kept
(numbers by value, before anything else by its letters), so that neither the order of the files nor
that of their lines changes what is kept. In the published files that is the first one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError, InputFault
from ..records.readers.cells import is_missing
from ..records.readers.dispatch import Table, open_table
from .scenarios import BBQ, MAX_SCENARIO_CHARS, Funnel, FunnelStep, Scenario

PUBLISHED = (58_492, 29_246, 14_623, 343)
"""The funnel of the whole of BBQ, as the paper has it (appendix 12.1)."""

_CONTEXTS = ("ambig", "disambig")
_POLARITIES = ("neg", "nonneg")
_TEXTS = ("context", "question", "ans0", "ans1", "ans2")
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class _Item:
    """A row of BBQ, checked."""

    where: str
    file: str
    line: int
    category: str
    question_index: str
    example_id: str
    is_ambiguous: bool
    is_negative: bool
    texts: Mapping[str, str]
    subcategory: str

    @property
    def order(self) -> tuple[int, int, str]:
        """Whole numbers by value, then other ids by their letters."""
        if self.example_id.isascii() and self.example_id.isdigit():
            return (0, int(self.example_id), "")
        return (1, 0, self.example_id)


def read_bbq(paths: Sequence[str | Path]) -> tuple[list[Scenario], Funnel]:
    """The scenarios of BBQ files and what became of every row.

    Raises:
        InputError: a file that cannot be read at all, or no file.
    """
    if not paths:
        raise InputError("name at least one file of BBQ (.jsonl or .jsonl.gz)")
    odd: list[InputFault] = []
    seen: dict[tuple[str, str], str] = {}
    kept: dict[tuple[str, str], _Item] = {}
    counts: Counter[str] = Counter()
    for path in paths:
        with open_table(path) as table:
            for item in _items(table, odd, counts):
                name = (item.category, item.example_id)
                if name in seen:
                    rule = f"example {item.example_id} of {item.category} stands at {seen[name]}"
                    odd.append(InputFault(item.where, rule, "example_id"))
                    continue
                seen[name] = item.where
                counts["usable"] += 1
                if not item.is_ambiguous:
                    continue
                counts["ambiguous"] += 1
                if not item.is_negative:
                    continue
                counts["negative"] += 1
                pair = (item.category, item.question_index)
                if pair not in kept or item.order < kept[pair].order:
                    kept[pair] = item
    chosen = [kept[pair] for pair in sorted(kept, key=_pair_order)]
    steps = (
        FunnelStep("items", counts["usable"]),
        FunnelStep("ambiguous context", counts["ambiguous"]),
        FunnelStep("negative question", counts["negative"]),
        FunnelStep("one a category and question_index", len(chosen)),
    )
    groups = Counter(item.category for item in chosen)
    funnel = Funnel(
        "item", counts["read"] + counts["malformed"], tuple(odd), steps, PUBLISHED, dict(groups)
    )
    return [_scenario(item) for item in chosen], funnel


def _items(table: Table, odd: list[InputFault], counts: Counter[str]) -> Iterator[_Item]:
    before = len(odd)
    malformed: list[InputFault] = []
    for line, raw in table.rows(malformed):
        counts["read"] += 1
        item, faults = _checked(table, line, raw)
        if item is not None:
            yield item
        else:
            # One row, one entry: its faults together.
            odd.append(InputFault(table.where(line), "; ".join(faults)))
    counts["malformed"] += len(malformed)
    odd[before:before] = malformed


def _checked(table: Table, line: int, raw: Mapping[str, Any]) -> tuple[_Item | None, list[str]]:
    faults: list[str] = []
    for name, allowed in (("context_condition", _CONTEXTS), ("question_polarity", _POLARITIES)):
        if raw.get(name) not in allowed:
            got = repr(raw.get(name))[:_SHOWN]
            faults.append(f"{name}: must be {' or '.join(allowed)}, got {got}")
    plain = {name: _plain(raw.get(name)) for name in ("category", "question_index", "example_id")}
    faults += [f"{name}: must be given" for name, value in plain.items() if not value]
    texts = {name: raw.get(name) for name in _TEXTS}
    faults += [
        f"{name}: must be text"
        for name, value in texts.items()
        if not isinstance(value, str) or not value.strip()
    ]
    if not faults and len(_text({k: str(v) for k, v in texts.items()})) > MAX_SCENARIO_CHARS:
        faults.append(f"its texts together have more than {MAX_SCENARIO_CHARS:,} characters")
    if faults:
        return None, faults
    metadata = raw.get("additional_metadata")
    subcategory = metadata.get("subcategory") if isinstance(metadata, Mapping) else None
    return (
        _Item(
            table.where(line), table.path.name, line, plain["category"], plain["question_index"],
            plain["example_id"], raw["context_condition"] == "ambig",
            raw["question_polarity"] == "neg", {k: str(v) for k, v in texts.items()},
            "" if is_missing(subcategory) or subcategory == "None" else str(subcategory),
        ),
        [],
    )  # fmt: skip


def _plain(value: Any) -> str:
    if is_missing(value) or isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value).strip()


def _pair_order(pair: tuple[str, str]) -> tuple[str, int, int, str]:
    category, index = pair
    is_number = index.isascii() and index.isdigit()
    return (category, 0 if is_number else 1, int(index) if is_number else 0, index)


def _text(texts: Mapping[str, str]) -> str:
    answers = "\n".join(f"{n}. {texts[f'ans{n - 1}']}" for n in (1, 2, 3))
    return (
        f"Context: {texts['context']}\nQuestion: {texts['question']}\nPossible answers:\n{answers}"
    )


def _scenario(item: _Item) -> Scenario:
    return Scenario(
        scenario_id=f"bbq-{item.category}-{item.question_index}",
        source=BBQ,
        stratum=item.category,
        text=_text(item.texts),
        provenance={
            "source_file": item.file,
            "source_line": str(item.line),
            "source_id": item.example_id,
            "source_group": item.subcategory,
        },
    )
