"""What the judges are asked anew: the drawn responses, with one thing changed in each arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..graphs.panel_spec import PanelSpec
from ..judges.prompt import JudgePrompt
from .config import JudgesConfig
from .estimates import NO_CRITERIA, Probed
from .scores import JudgeScores, aligned
from .texts import form_of, said_again, with_markdown, without_markdown

BASE = "base"
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Arm:
    """One run of the panel on the drawn responses, or on a part of them.

    Attributes:
        name: of its stage and its folder.
        panel: who is asked, and how.
        rows: the responses.
        turn: by how many places the criteria are rotated.
    """

    name: str
    panel: PanelSpec
    rows: Rows
    turn: int = 0

    @property
    def stage(self) -> str:
        """The probe that it is a part of: rotations are one."""
        return "order" if self.turn else self.name


@dataclass(frozen=True)
class Probe:
    """All that is asked.

    Attributes:
        arms: the base first.
        skipped: name of a probe that is not asked to the reason.
        words: name of a probe to its words over those of the response as it is, on average.
    """

    arms: tuple[Arm, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, float] = field(default_factory=dict)


def drawn(scores: JudgeScores, texts: Mapping[str, tuple[str, str]], n: int, seed: int) -> Rows:
    """So many scored responses: as many different prompts as there are, then a second of each.

    Args:
        scores: of the run.
        texts: response id to prompt and response.
        n: how many, at most.
        seed: of the order of prompts and of responses.
    """
    chance = np.random.default_rng(seed)
    scored = np.flatnonzero(~np.isnan(scores.by_judge).all(axis=1))
    order = chance.permutation(scored)
    rank: dict[int, int] = {}  # which of its prompt's responses each is
    seen: dict[int, int] = {}
    for k in order.tolist():
        prompt = int(scores.prompt[k])
        rank[k] = seen[prompt] = seen.get(prompt, -1) + 1
    chosen = sorted((k for k in order.tolist() if scores.ids[k] in texts), key=rank.__getitem__)[:n]
    return [
        {
            "response_id": scores.ids[k],
            "prompt_id": f"prompt-{scores.prompt[k]}",
            "prompt_text": texts[scores.ids[k]][0],
            "response_text": texts[scores.ids[k]][1],
            "respondent_id": scores.respondents[k],
        }
        for k in chosen
    ]


def probe_of(panel: PanelSpec, rows: Rows, config: JudgesConfig) -> Probe:
    """The arms of a probe.

    The base asks as the run did, so that the ledger has it, and once more where repeats are wanted.
    Rotations take turns over the responses: each criterion stands at each place equally often, and
    each response is asked about in one of them.
    """
    wanted, wording = config.probes, panel.judge_prompt
    n_criteria = len(panel.criteria)
    repeats = max(2, panel.repeats) if "repeats" in wanted else panel.repeats
    arms = [Arm(BASE, replace(panel, repeats=repeats), rows)]
    once = replace(panel, repeats=1)
    skipped: dict[str, str] = {}
    words: dict[str, float] = {}
    if "order" in wanted:
        if n_criteria < 2:
            skipped["order"] = NO_CRITERIA
        elif wording.criterion_calls == "apart":
            skipped["order"] = "the run asks for each criterion alone: there is no order"
        for turn in range(1, n_criteria) if "order" not in skipped else ():
            mine = rows[turn - 1 :: n_criteria - 1]
            if mine:
                order = (wording.criterion_order + turn) % n_criteria
                arms.append(Arm(f"order-{turn}", _asked(once, criterion_order=order), mine, turn))
    if "calls" in wanted:
        if n_criteria < 2:
            skipped["calls"] = NO_CRITERIA
        else:
            other = "together" if wording.criterion_calls == "apart" else "apart"
            arms.append(Arm("calls", _asked(once, criterion_calls=other), rows))
    if "persona" in wanted:
        first = wording.order == "response_first"
        order_of = "persona_first" if first else "response_first"
        arms.append(Arm("persona", _asked(once, order=order_of), rows))
    for name, change in (("length", said_again), ("formatting", _other_form)):
        if name in wanted:
            changed = [row | {"response_text": change(row["response_text"])} for row in rows]
            arms.append(Arm(name, once, changed))
            words[name] = _longer(rows, changed)
    return Probe(tuple(arms), skipped, words)


def of_some_personas(panel: PanelSpec, ids: Sequence[str]) -> PanelSpec:
    """The panel with these personas alone."""
    judges = {name: one for name, one in panel.judges.items() if one.persona.id in ids}
    return replace(panel, judges=judges)


def probed(probe: Probe, base: JudgeScores, scores: Mapping[str, JudgeScores]) -> Probed:
    """What came of it, as arrays in the order of the base.

    Args:
        probe: what was asked.
        base: of the base arm, with the prompts' codes of the run.
        scores: of the other arms, by their names.
    """
    place = {name: k for k, name in enumerate(base.ids)}
    n_responses, n_judges = base.values.shape[:2]
    n_criteria = len(base.criteria)
    turn = np.ones(n_responses, dtype=np.int64)
    arms: dict[str, Any] = {}
    counts = {BASE: (base.n_scored, base.n_planned)}
    order = np.full((n_responses, n_judges, 1, n_criteria), np.nan)
    wording = probe.arms[0].panel.judge_prompt
    for arm in probe.arms[1:]:
        if arm.name not in scores:
            continue
        values = aligned(scores[arm.name], base)
        name = arm.stage
        n_scored, n_planned = counts.get(name, (0, 0))
        of_arm = scores[arm.name]
        counts[name] = (n_scored + of_arm.n_scored, n_planned + of_arm.n_planned)
        if arm.turn:
            mine = [place[row["response_id"]] for row in arm.rows if row["response_id"] in place]
            order[mine], turn[mine] = values[mine], arm.turn
            arms["order"] = order
        elif name == "formatting":
            was_set = {row["response_id"]: form_of(row["response_text"]).is_formatted
                       for row in probe.arms[0].rows}  # fmt: skip
            is_set = np.array([was_set[name] for name in base.ids])[:, None, None, None]
            arms["plain"] = np.where(is_set, values, np.nan)
            arms["formatted"] = np.where(is_set, np.nan, values)
        else:
            arms[name] = values
    if start := wording.criterion_order:  # places are counted as the base has them
        turned = np.roll(np.arange(n_criteria), -start)
        base = replace(base, values=base.values[..., turned])
        arms = {name: values[..., turned] for name, values in arms.items()}
    return Probed(
        base, turn, arms,
        is_apart=wording.criterion_calls == "apart",
        is_persona_first=wording.order == "persona_first",
        words=probe.words, judgments=counts, skipped=probe.skipped,
    )  # fmt: skip


def _asked(panel: PanelSpec, **changes: Any) -> PanelSpec:
    """The same judges, asked in another way."""
    wordings: dict[int, JudgePrompt] = {}
    judges = {}
    for name, judge in panel.judges.items():
        old = judge.judge_prompt
        wording = wordings.setdefault(id(old), replace(old, **changes))
        judges[name] = replace(judge, judge_prompt=wording)
    return replace(panel, judges=judges)


def _other_form(text: str) -> str:
    return without_markdown(text) if form_of(text).is_formatted else with_markdown(text)


def _longer(rows: Rows, changed: Rows) -> float:
    ratios = [
        form_of(new["response_text"]).words / max(1, form_of(old["response_text"]).words)
        for old, new in zip(rows, changed, strict=True)
    ]
    return float(np.mean(ratios)) if ratios else 1.0
