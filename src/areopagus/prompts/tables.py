"""The tables that a construction leaves: the prompt set, candidates, bundles, and every vote."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError, InputFault
from ..graphs.prompt_construction import (
    Constructed,
    EquivalenceRule,
    Pair,
    PairVote,
    PromptQuality,
    PromptRef,
    is_equivalent,
    vote_passes,
)
from ..graphs.prompt_writing import CRITERIA
from ..records.readers.dispatch import open_table
from ..records.run_folder import csv_table
from ..records.spreadsheets import carried_names, writable
from .scenarios import Scenario

PROMPTS_FILE = "prompts.csv"
CANDIDATES_FILE = "candidates.csv"
BUNDLES_FILE = "bundles.csv"
VOTES_FILE = "votes.csv"
PAIRS_FILE = "pairs.csv"

PROMPT_COLUMNS = (
    "prompt_id",
    "prompt_text",
    "source",
    "stratum",
    "scenario_id",
    "generator",
    "generator_model",
    "number",
    "angle",
    "dimensions",
    "about_technology",
    "quality",
    "votes_passed",
    "votes_planned",
)
_CANDIDATE_COLUMNS = (*PROMPT_COLUMNS, "votes_failed", "votes_missing", "is_usable", "faults")
_BUNDLE_COLUMNS = (
    "scenario_id", "source", "stratum", "generator", "generator_model", "status", "usable",
    "wanted", "reason", "repaired", "repaired_faults", "calls", "cost_usd", "answered_by",
)  # fmt: skip
_VOTE_COLUMNS = (
    "prompt_id", "generator", "judge", "judge_model", "is_own", "status", "passes", *CRITERIA,
    "reason", "calls", "cost_usd",
)  # fmt: skip
_PAIR_COLUMNS = (
    "scenario_id", "first", "second", "first_generator", "second_generator", "equivalent",
    "judge_1", "judge_1_model", "vote_1", "reason_1", "judge_2", "judge_2_model", "vote_2",
    "reason_2",
)  # fmt: skip
_PLAIN = re.compile(r"[^A-Za-z0-9._]+")
COLUMNS: Mapping[str, tuple[str, ...]] = {
    PROMPTS_FILE: PROMPT_COLUMNS,
    CANDIDATES_FILE: _CANDIDATE_COLUMNS,
    BUNDLES_FILE: _BUNDLE_COLUMNS,
    VOTES_FILE: _VOTE_COLUMNS,
    PAIRS_FILE: _PAIR_COLUMNS,
}
USED = ("passed", "not_checked")
"""What the votes on a prompt of the set come to: it passed, or there was nobody to ask."""


def short_names(generators: Sequence[str]) -> dict[str, str]:
    """Generator to a short name for ids: what stands after the last slash, as letters and digits.

    Where two would share one, each gets four digits of a hash of its whole name.
    """
    short = {
        name: _PLAIN.sub("-", name.rsplit("/", 1)[-1]).strip("-") or "m" for name in generators
    }
    shared = Counter(short.values())
    return {
        name: f"{text}-{hashlib.sha256(name.encode()).hexdigest()[:4]}"
        if shared[text] > 1
        else text
        for name, text in short.items()
    }


def prompt_id(scenario_id: str, ref: PromptRef, short: Mapping[str, str]) -> str:
    """The name of a prompt: its scenario, its generator, its number."""
    return f"{scenario_id}-{short[ref.generator]}-{ref.number}"


Rows = list[dict[str, Any]]


def tables_of(
    scenarios: Sequence[Scenario],
    outcomes: Sequence[Constructed],
    generators: Sequence[str],
    *,
    models: Mapping[str, str],
    wanted: int,
    rule: EquivalenceRule,
) -> dict[str, Rows]:
    """File to its rows, of which some columns are not written (`scenario_id` of a vote).

    Args:
        scenarios, outcomes: one outcome a scenario.
        generators: names, in order.
        models: name of a generator or judge to litellm's name of its model: who cites a prompt
            needs the model, and the name may be anything.
        wanted: prompts wanted a bundle.
        rule: when a pair is equivalent.
    """
    short = short_names(generators)
    both = list(zip(scenarios, outcomes, strict=False))
    candidates = [row for one, other in both for row in _candidates(one, other, short, models)]
    chosen = [row for row in candidates if row["is_usable"] == "yes" and row["quality"] in USED]
    return {
        PROMPTS_FILE: chosen,
        CANDIDATES_FILE: candidates,
        BUNDLES_FILE: list(_bundles(both, wanted, models)),
        VOTES_FILE: list(_votes(outcomes, short, models)),
        PAIRS_FILE: list(_pairs(outcomes, short, models, rule)),
    }


def write_tables(folder: Path, tables: Mapping[str, Rows], carried: Sequence[str]) -> None:
    """Writes every table.

    Args:
        folder: that they are written to.
        tables: as `tables_of` makes them.
        carried: columns of the scenarios that stand beside their prompts.

    Raises:
        StoreError: the folder cannot be written.
    """
    for name, rows in tables.items():
        columns = COLUMNS[name]
        beside = carried if name in (PROMPTS_FILE, CANDIDATES_FILE) else ()
        with csv_table(folder / name, (*columns, *carried_names(beside, columns))) as writer:
            for row in rows:
                cells = [row[column] for column in columns]
                cells += [row["scenario"].provenance.get(column, "") for column in beside]
                writer.write(writable(cell) for cell in cells)


def read_tables(folder: Path) -> dict[str, Rows]:
    """The tables from which every figure is made, as they stand in a folder.

    Raises:
        InputError: one is not there or is none of ours.
    """
    found: dict[str, Rows] = {}
    for name in (CANDIDATES_FILE, BUNDLES_FILE, VOTES_FILE, PAIRS_FILE):
        faults: list[InputFault] = []
        with open_table(folder / name) as table:
            found[name] = [dict(row) for _, row in table.rows(faults)]
        absent = set(COLUMNS[name]) - set(found[name][0]) if found[name] else ()
        if faults or absent:
            raise InputError(faults or [InputFault(str(folder / name), "lacks columns of ours")])
    of = {row["prompt_id"]: row["scenario_id"] for row in found[CANDIDATES_FILE]}
    for row in found[VOTES_FILE]:
        row["scenario_id"] = of[row["prompt_id"]]
    return found


def _candidates(
    scenario: Scenario,
    outcome: Constructed,
    short: Mapping[str, str],
    models: Mapping[str, str],
) -> Iterator[dict[str, Any]]:
    known = outcome.qualities()
    nothing = PromptQuality("not_checked", 0, 0, 0)
    for bundle in outcome.bundles:
        for block in bundle.blocks:
            ref = PromptRef(bundle.generator, block.number)
            quality = known.get(ref, nothing)
            about = {True: "yes", False: "no"}[block.is_technology]
            yield {
                "scenario": scenario,
                "prompt_id": prompt_id(scenario.scenario_id, ref, short),
                "prompt_text": block.question,
                "source": scenario.source,
                "stratum": scenario.stratum,
                "scenario_id": scenario.scenario_id,
                "generator": bundle.generator,
                "generator_model": models[bundle.generator],
                "number": block.number,
                "angle": block.angle,
                "dimensions": block.dimensions,
                "about_technology": about if block.says_technology is not None else "",
                "quality": quality.outcome if block.is_usable else "unusable",
                "votes_passed": quality.passes,
                "votes_planned": quality.passes + quality.fails + quality.missing,
                "votes_failed": quality.fails,
                "votes_missing": quality.missing,
                "is_usable": "yes" if block.is_usable else "no",
                "faults": " ".join(block.faults),
            }


def _bundles(
    both: Iterable[tuple[Scenario, Constructed]], wanted: int, models: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    for scenario, outcome in both:
        for bundle in outcome.bundles:
            yield {
                "scenario_id": scenario.scenario_id,
                "source": scenario.source,
                "stratum": scenario.stratum,
                "generator": bundle.generator,
                "generator_model": models[bundle.generator],
                "status": bundle.status,
                "usable": len(bundle.usable),
                "wanted": wanted,
                "reason": bundle.reason,
                "repaired": "yes" if bundle.is_repaired else "no",
                "repaired_faults": "; ".join(bundle.repaired_faults),
                "calls": bundle.calls,
                "cost_usd": "" if bundle.cost_usd is None else f"{bundle.cost_usd:.8g}",
                "answered_by": bundle.answered_by or "",
            }


def _votes(
    outcomes: Iterable[Constructed], short: Mapping[str, str], models: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    for outcome in outcomes:
        for vote in outcome.votes:
            value, is_read = vote.asked.value, vote.asked.status == "read"
            cost = vote.asked.cost_usd
            yield {
                "prompt_id": prompt_id(outcome.scenario_id, vote.prompt, short),
                "scenario_id": outcome.scenario_id,
                "generator": vote.prompt.generator,
                "judge": vote.judge,
                "judge_model": models[vote.judge],
                "is_own": "yes" if vote.judge == vote.prompt.generator else "no",
                "status": vote.asked.status,
                "passes": _yes(vote_passes(value)) if is_read else "",
                **{key: _yes(value[key]) if is_read else "" for key in CRITERIA},
                "reason": value["reason"] if is_read else vote.asked.detail,
                "calls": vote.asked.calls,
                "cost_usd": "" if cost is None else f"{cost:.8g}",
            }


def _pairs(
    outcomes: Iterable[Constructed],
    short: Mapping[str, str],
    models: Mapping[str, str],
    rule: EquivalenceRule,
) -> Iterator[dict[str, Any]]:
    for outcome in outcomes:
        said: dict[Pair, list[PairVote]] = {pair: [] for pair in outcome.unjudged_pairs}
        for vote in outcome.pairs:
            said.setdefault(vote.pair, []).append(vote)
        for pair, votes in said.items():
            verdict = is_equivalent([vote.value for vote in votes], rule)
            row: dict[str, Any] = {
                "scenario_id": outcome.scenario_id,
                "first": prompt_id(outcome.scenario_id, pair.one, short),
                "second": prompt_id(outcome.scenario_id, pair.other, short),
                "first_generator": pair.one.generator,
                "second_generator": pair.other.generator,
                "equivalent": "undecided" if verdict is None else _yes(verdict),
            }
            for place in (1, 2):
                said_by = votes[place - 1] if len(votes) >= place else None
                row[f"judge_{place}"] = "" if said_by is None else said_by.judge
                row[f"judge_{place}_model"] = "" if said_by is None else models[said_by.judge]
                row[f"vote_{place}"], row[f"reason_{place}"] = _said(said_by)
            yield row


def _said(vote: PairVote | None) -> tuple[str, object]:
    if vote is None:
        return "", ""
    if vote.asked.status != "read":
        return vote.asked.status, vote.asked.detail
    return _yes(vote.value), vote.asked.value["reason"]


def _yes(value: object) -> str:
    return "yes" if value is True else "no"
