"""Examinations of judges (judge_behaviour/estimates.py): planted biases, and none.

A world is a run: prompts of four responses by four respondents, two of them of a judge's family,
judged twice by three personas on two models, on five criteria, in whole numbers; its probe on one
response a prompt; and an earlier run. A bias varies from response to response around its mean, but
for what would be halo.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from simulation import simulation

from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.judge_biases import criterion_correlation, mean_correlation
from areopagus.judge_behaviour.config import JudgesConfig
from areopagus.judge_behaviour.estimates import Earlier, Probed, estimate
from areopagus.judge_behaviour.scores import JudgeScores
from areopagus.judge_behaviour.texts import Form
from areopagus.records.estimates import estimates_by, select

Floats = npt.NDArray[np.float64]

RESPONDENTS = ("openai/a", "anthropic/b", "meta/c", "person")
MODELS = ("openai/judge", "anthropic/judge")
FAMILIES = ("openai", "anthropic")
PERSONAS = ("one", "two", "three")
N_CRITERIA = 5
SCALE = (1, 10)
CONFIG = JudgesConfig(probe=26)


@dataclass(frozen=True)
class Planted:
    """The biases of a world, in points; `halo` is the SD of what a judge's criteria share.

    `missing` is the share of its family's responses that one harsh judge has not scored.
    """

    order: float = 0.0
    one_call: float = 0.0
    persona_first: float = 0.0
    said_again: float = 0.0
    markdown: float = 0.0
    own_family: float = 0.0
    length: float = 0.0
    formatting: float = 0.0
    halo: float = 0.0
    drift: float = 0.0
    missing: float = 0.0


NOTHING = Planted()
MISSING = Planted(missing=0.3)
HARSH = 1.5
EVERYTHING = Planted(
    order=-0.6, one_call=-0.3, persona_first=0.3, said_again=-0.4, markdown=0.4, own_family=0.5,
    length=0.3, formatting=0.3, halo=0.7, drift=-0.3,
)  # fmt: skip


def rounded(values: Floats) -> Floats:
    """As judges write: whole numbers of the scale."""
    found: Floats = np.clip(np.rint(values), *SCALE)
    return found


def world(
    planted: Planted, n_prompts: int, rng: np.random.Generator
) -> tuple[JudgeScores, list[Form], Probed, Earlier]:
    """One run with its probe and the run before it."""
    n_who, n_judges = len(RESPONDENTS), len(MODELS) * len(PERSONAS)
    n = n_prompts * n_who
    prompt = np.repeat(np.arange(n_prompts), n_who)
    who = np.tile(np.arange(n_who), n_prompts)
    model = np.repeat(np.arange(len(MODELS)), len(PERSONAS))
    quality = (
        5.5
        + rng.normal(0, 0.5, (n_prompts, 1))[prompt]
        + np.array([0.4, 0.1, -0.2, -0.3])[who][:, None]
        + rng.normal(0, 0.5, (n, 1))
        + rng.normal(0, 0.4, (n, N_CRITERIA))
    )
    doublings = 8 + np.array([0.5, 0.2, 0, -0.3])[who] + rng.normal(0, 0.5, n)
    is_set = rng.random(n) < np.array([0.8, 0.6, 0.5, 0.2])[who]
    forms = [Form(round(2**d), int(s), 0, 0) for d, s in zip(doublings, is_set, strict=True)]
    words = np.log2([form.words for form in forms])

    def around(mean: float, *shape: int) -> Floats:
        found: Floats = rng.normal(mean, 0.25, shape)
        return found

    own = np.array(FAMILIES)[model][None, :] == np.array([r.split("/")[0] for r in RESPONDENTS])[
        who
    ][:, None]  # fmt: skip
    severity = rng.normal(0, 0.4, (n_judges, 1))
    severity[0] -= HARSH * (planted.missing > 0)
    level = (
        quality[:, None, :]
        + severity[None]
        + rng.normal(0, 0.3, (n_judges, N_CRITERIA))[None]
        + (own * (around(planted.own_family, n, 1) if planted.own_family else 0.0))[..., None]
        + (planted.length * (words - 8))[:, None, None]
        + (planted.formatting * is_set)[:, None, None]
    )
    lasting = rng.normal(0, 0.5, level.shape)

    def asked(
        at: npt.NDArray[np.int64], more: Floats | float = 0.0, *, apart: bool = False
    ) -> Floats:
        mood = 0.0 if apart else rng.normal(0, 1, (len(at), n_judges, 1)) * planted.halo
        noise = rng.normal(0, 0.6, (len(at), n_judges, N_CRITERIA))
        return rounded(level[at] + lasting[at] + mood + noise + more)[:, :, None, :]

    everybody = np.arange(n)
    place = (np.arange(N_CRITERIA) / (N_CRITERIA - 1) - 0.5) * planted.order
    stored = np.concatenate([asked(everybody, place), asked(everybody, place)], axis=2)
    if planted.missing:
        stored[own[:, 0] & (rng.random(n) < planted.missing), 0] = np.nan
    drawn = prompt.searchsorted(np.arange(n_prompts)) + rng.integers(0, n_who, n_prompts)
    turn = 1 + np.arange(n_prompts) % (N_CRITERIA - 1)
    later = (np.arange(N_CRITERIA)[None, :] - turn[:, None]) % N_CRITERIA
    turned_place = (later / (N_CRITERIA - 1) - 0.5) * around(planted.order, n_prompts, 1)
    plain_set = is_set[drawn][:, None, None]
    form_shift = around(planted.markdown, n_prompts, 1, 1) * np.where(plain_set, -1, 1)
    other_form = asked(drawn, place + form_shift)
    nothing = np.full(other_form.shape, np.nan)
    arms = {
        "order": asked(drawn, turned_place[:, None, :]),
        "calls": asked(drawn, planted.one_call, apart=True),
        "persona": asked(drawn, place + around(planted.persona_first, n_prompts, 1, 1)),
        "length": asked(drawn, place + around(planted.said_again, n_prompts, 1, 1)),
        "plain": np.where(plain_set[..., None], other_form, nothing),
        "formatted": np.where(plain_set[..., None], nothing, other_form),
    }
    judges: dict[str, Any] = {
        "prompts": n_prompts,
        "personas": PERSONAS * len(MODELS),
        "models": tuple(MODELS[k] for k in model),
        "criteria": tuple("abcde"),
    }
    run = JudgeScores(
        stored, tuple(map(str, everybody)), prompt, respondents=tuple(RESPONDENTS[k] for k in who),
        n_planned=stored[..., 0].size, **judges,
    )  # fmt: skip
    base = replace(
        run.of_responses(drawn),
        values=np.concatenate([asked(drawn, place), asked(drawn, place)], axis=2),
    )
    before = asked(everybody, place - around(planted.drift, n, 1, 1))
    after = run.by_judge
    earlier = Earlier(
        before.mean(axis=(2, 3)), after, prompt, n_prompts, judges["personas"], judges["models"]
    )
    return run, forms, Probed(base, turn, arms), earlier


def biases(
    planted: Planted, n_prompts: int, rng: np.random.Generator, config: JudgesConfig = CONFIG
) -> dict[str, Estimate]:
    """Bias to its estimate in one world."""
    run, forms, probed, earlier = world(planted, n_prompts, rng)
    frame = estimate(run, forms, config, probed=probed, earlier=earlier).frame()
    rows = estimates_by(select(frame, "biases"), ["group"])
    return {str(at["group"]): row["effect"] for at, row in rows}


PLANTED = {"nothing": NOTHING, "one judge missing": MISSING, "everything": EVERYTHING}


@cache
def truths(name: str, n_prompts: int = 2000) -> Mapping[str, float]:
    """What each figure is: as planted in points; of correlations in one very large world."""
    planted = PLANTED[name]
    run, _, probed, _ = world(planted, n_prompts, np.random.default_rng(39))
    together, apart = (
        mean_correlation(criterion_correlation(values[:, :, 0]))
        for values in (probed.base.values, probed.arms["calls"])
    )
    halo = mean_correlation(criterion_correlation(run.values[:, :, 0], beyond_response=True))
    known = {field.name: float(getattr(planted, field.name)) for field in fields(planted)}
    return known | {"halo": halo, "halo_calls": together - apart}


@simulation(worlds=60, planted=tuple(PLANTED), figure=("called", "covered"))
def judge_biases(rng: np.random.Generator, planted: str, figure: str) -> Mapping[str, float]:
    """Two families of judges, five criteria, 26 prompts of four responses, a probe of one each:
    how often a bias is called higher or lower, and any; how often its own 95% interval covers what
    was planted. One judge missing: a harsh judge has not scored 30% of its own family's responses.
    """
    found = biases(PLANTED[planted], 26, rng)
    if figure == "called":
        called = {key: float(one.verdict in ("higher", "lower")) for key, one in found.items()}
        return {"any": max(called.values()), **called}
    truth = truths(planted)
    return {key: float(one.covers(truth[key])) for key, one in found.items()}
