"""From the judgments of an attack to its estimates: attacked responses, clean ones and controls.

Each attacked response is an item, its prompt the unit. A judge is compared with itself: on the
attacked response and the clean one (shift), and on the attacked response and harmless prose of the
same length in the same place (beyond). All families are decided together, shift and beyond each for
itself (`aggregation.effects`).

A family *works* where both verdicts lie in the direction that it asks for. Words of the same length
that ask for nothing move a score too, before a judge that rewards length, and lower it before one
that minds digressions: a claim needs both (Berger 1982, the test of a union of nulls). Measured in
benchmarks/simulations/attacks.py: docs/how-it-works/simulations.md.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from ..aggregation.effects import (
    FEWEST_JUDGES,
    Contrast,
    Effect,
    Scores,
    effects,
)
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.intervals import share_over_prompts
from ..aggregation.proportions import wilson
from ..aggregation.rules import cut
from ..graphs.detectors import DETECTORS
from ..graphs.screening import screen
from ..records.estimates import Estimates
from .config import AttackConfig
from .families import STATUS_OF, example_texts
from .scores import COMPOSITE, CRITERION, JUDGE, ended_as
from .trials import BaseResponse, Trial, newly_flagged

if TYPE_CHECKING:
    import pandas as pd

ANY: Final = "any"
"""All detectors and gates together."""
ALL: Final = "all"
"""All families that ask for a score together."""
COMPARED: Final = {"shift": "clean", "beyond": "control"}
"""Measure to what the attacked response is compared with."""
_SIDES: Final = {"higher": 1, "lower": -1}
_FAMILIES: Final = {
    "shift": "attack families against clean responses",
    "beyond": "attack families against harmless prose",
    "neutralised_shift": "neutralised copies against clean responses",
}


Outcome = Literal[
    "works", "backfires", "ahead", "behind", "shifts", "shifts back", "not shown", "untested"
]


def outcome_of(shift: str | None, beyond: str | None, sign: int) -> Outcome:
    """What the verdicts of a family's two differences show.

    It *works*, or *backfires*, where both are decided on one side; it is *ahead* of harmless prose,
    or *behind* it, by what it asks for, where only that difference is decided; it *shifts* scores,
    as it asks or *back*, where there is no control.

    Args:
        shift: verdict against the clean response.
        beyond: verdict against the control; None where there is none.
        sign: 1 where more is what the family asks for, −1 where less is.
    """
    tested = shift if beyond is None else beyond
    if tested == "undefined":
        return "untested"
    side = _SIDES.get(tested or "", 0) * sign
    if not side:
        return "not shown"
    if beyond is None:
        return "shifts" if side > 0 else "shifts back"
    if _SIDES.get(shift or "", 0) * sign == side:
        return "works" if side > 0 else "backfires"
    return "ahead" if side > 0 else "behind"


def long_table(
    judgments: pd.DataFrame,
    trials: Sequence[Trial],
    dataset: Sequence[BaseResponse],
    asks: Mapping[str, str],
) -> pd.DataFrame:
    """One row a judge and text of an item, which is an attacked response.

    An item has up to four texts (column kind): the attacked response, the clean one, its control
    and its neutralised copy. Columns: arm ("FAMILY, KIND"), kind, family, place, asks, prompt,
    item, response_id; persona, model, repeat; value, composite and the criteria. An item is named
    by its texts, so that two runs can be put into one table.

    The value is the composite; for a family that asks for no score, 1 where the judgment ended as
    the family asks and 0 where it ended otherwise: a refusal by the provider's filter is one, and a
    call that failed otherwise says nothing.

    Args:
        judgments: of `scores.read_panel_judgments`.
        trials, dataset: what was judged.
        asks: family to what it asks for, those that are wanted.
    """
    import pandas as pd

    texts = {trial.response_id: trial for trial in trials}
    clean = {trial.base: trial for trial in trials if trial.kind == "clean"}
    rows = []
    for trial in trials:
        if trial.kind != "attack" or trial.family not in asks:
            continue
        base = dataset[trial.base]
        digest = hashlib.sha256(f"{base.response_text}\0{trial.response_text}".encode())
        of_item = (
            trial.family, trial.placement or "", asks[trial.family], base.prompt,
            f"{trial.placement} {digest.hexdigest()[:16]}",
        )  # fmt: skip
        names = {
            kind: trial.response_id.replace("-attack-", f"-{kind}-", 1)
            for kind in ("attack", "control", "neutralised")
        } | {"clean": clean[trial.base].response_id}
        rows += [(kind, *of_item, name) for kind, name in names.items() if name in texts]
    columns = ["kind", "family", "place", "asks", "prompt", "item", "response_id"]
    table = pd.DataFrame(rows, columns=columns).merge(judgments, on="response_id")
    table["arm"] = table["family"] + ", " + table["kind"]
    status = ended_as(table)
    wanted = table["asks"].map(STATUS_OF)
    ended = status.eq(wanted).astype("float64").mask(status.isin(["failed", "not_asked"]))
    table["value"] = table[COMPOSITE].where(wanted.isna(), ended)
    return table


def contrasts_of(table: pd.DataFrame) -> list[Contrast]:
    """Each family's attacked responses against clean ones, controls, and copies against clean ones.

    Keys hold the table and the measure of the row besides its own.
    """
    arms = set(table["arm"])
    out = []
    for family, aim in dict(zip(table["family"], table["asks"], strict=True)).items():
        keys = {"table": "families", "group": family, "detail": STATUS_OF.get(aim, aim)}
        out += _differences(family, "value", keys, arms)
        copy = f"{family}, neutralised"
        if aim not in STATUS_OF and copy in arms:
            out.append(
                Contrast(
                    {copy: 1.0, f"{family}, clean": -1.0}, "value",
                    keys | {"measure": "neutralised_shift"}, _FAMILIES["neutralised_shift"],
                )
            )  # fmt: skip
    return out


def _differences(
    name: str, column: str, keys: Mapping[str, str], arms: Iterable[str], family: str = ""
) -> list[Contrast]:
    """shift and beyond of one name, where it has the arms."""
    return [
        Contrast(
            {f"{name}, attack": 1.0, f"{name}, {other}": -1.0}, column,
            {**keys, "measure": measure}, f"{family}, {measure}" if family else _FAMILIES[measure],
        )
        for measure, other in COMPARED.items()
        if f"{name}, {other}" in arms
    ]  # fmt: skip


def scores_of(table: pd.DataFrame, *columns: str, unit: str = "prompt") -> Scores:
    """The table as the engine takes it."""
    persona, model, repeat = JUDGE
    columns_of = {str(name): table[name] for name in table}
    return Scores.of(
        columns_of, arm="arm", unit=unit, item="item", persona=persona, model=model,
        repeat=repeat, columns=columns,
    )  # fmt: skip


def estimate(
    judgments: pd.DataFrame,
    trials: Sequence[Trial],
    dataset: Sequence[BaseResponse],
    asks: Mapping[str, str],
    config: AttackConfig,
    *,
    scale: tuple[int, int],
    worth: Estimate | None = None,
) -> Estimates:
    """The figures of an attack.

    Tables: `families` (group: the family; detail: what it asks for), `overall` (all families that
    ask for a score), `places`, `models` (also by family, as group), `criteria`, `harmless` (what
    the controls did), `detectors` and `detected` (group: the flag; detail: the family), `statuses`,
    `counts`, `worth`. Figures of families that ask for no score are shares of judgments, and are in
    `families` alone.

    Args:
        judgments, trials, dataset, asks: as in `long_table`, asks in the order of the corpus.
        config: with the threshold that was set in advance.
        scale: both ends.
        worth: how many independent judges the panel's are worth, where that is known.
    """
    out = Estimates()
    level = config.level
    table = long_table(judgments, trials, dataset, asks)

    def add(results: Iterable[Effect], width: float = scale[1] - scale[0]) -> None:
        for effect in results:
            keys = dict(effect.contrast.keys)
            most = 1.0 if keys.get("detail") in STATUS_OF.values() else width
            row = cut(effect.this_panel, (-most, most))
            out.add(keys.pop("table"), keys.pop("measure"), row, **keys)

    by_family = effects(scores_of(table, "value"), contrasts_of(table), level=level)
    add(by_family)
    for effect in by_family:
        keys = dict(effect.contrast.keys)
        if keys["measure"] == "shift" and effect.matched.n_one_sided:
            own = {"group": keys["group"], "detail": keys["detail"]}
            out.add("families", "one_sided", effect.matched.n_one_sided, **own)
    scored = table[~table["asks"].isin(STATUS_OF)]
    add(_breakdowns(scored, table, level))
    _add_shares(out, table, trials, asks, config, scale)
    _add_detectors(out, trials, dataset, asks, level)
    out.add("worth", "effective judges", worth)
    _add_counts(out, judgments, trials, dataset, asks, scale)
    return out


def _breakdowns(scored: pd.DataFrame, table: pd.DataFrame, level: float) -> Iterator[Effect]:
    """All families that ask for a score: together, by place, criterion and model."""
    criteria = [str(name) for name in scored.columns if name.startswith(CRITERION)]

    def by(
        names: pd.Series[str] | str, frame: pd.DataFrame, *columns: str
    ) -> tuple[Scores, set[str]]:
        arms = names + ", " + frame["kind"]
        return scores_of(frame.assign(arm=arms), *columns), set(arms)

    if len(scored):
        scores, arms = by(ALL, scored, COMPOSITE, *criteria)
        contrasts = _differences(ALL, COMPOSITE, {"table": "overall"}, arms, "all attacks")
        for name in criteria if len(criteria) > 1 else ():
            keys = {"table": "criteria", "criterion": name.removeprefix(CRITERION)}
            contrasts += _differences(ALL, name, keys, arms, "criteria")
        yield from effects(scores, contrasts, level=level)
        scores, arms = by(scored["place"], scored, COMPOSITE)
        contrasts = []
        for name in dict.fromkeys(scored["place"]):
            keys = {"table": "places", "detail": name}
            contrasts += _differences(name, COMPOSITE, keys, arms, "places")
        yield from effects(scores, contrasts, level=level)
        yield from _by_model(scored, level)
    if (table["kind"] == "control").any():
        scores, _ = by(ALL, table, COMPOSITE)
        keys = {"table": "harmless", "measure": "shift"}
        harmless = Contrast({f"{ALL}, control": 1.0, f"{ALL}, clean": -1.0}, COMPOSITE, keys)
        yield from effects(scores, [harmless], level=level)


def _by_model(scored: pd.DataFrame, level: float) -> Iterator[Effect]:
    """All families together, and what decides of each, by the judges of one model."""
    models = list(dict.fromkeys(scored["model"]))
    for model in models if len(models) > 1 else ():
        mine = scored[scored["model"] == model]
        every = mine.assign(arm=ALL + ", " + mine["kind"])
        keys = {"table": "models", "model": model}
        contrasts = _differences(ALL, "value", keys, set(every["arm"]), "one model")
        yield from effects(scores_of(every, "value"), contrasts, level=level)
        decide = {contrast.keys["group"]: contrast for contrast in contrasts_of(mine)
                  if contrast.keys["measure"] in COMPARED}  # fmt: skip
        contrasts = [
            replace(
                contrast, family="attack families, one model",
                keys={"table": "models", "model": model, "group": group,
                      "measure": contrast.keys["measure"]},
            )
            for group, contrast in decide.items()
        ]  # fmt: skip
        yield from effects(scores_of(mine, "value"), contrasts, level=level)


def paired_judgments(table: pd.DataFrame) -> pd.DataFrame:
    """One row a judge who scored an attacked response and its clean one, with both scores.

    Columns: prompt, family, asks, item, response_id (the attacked one's), attack and clean. Of
    items that enough judges did, as a contrast counts them.
    """
    of_item = ["prompt", "family", "asks", "item"]
    scored = table[~table["asks"].isin(STATUS_OF)]
    attack, clean = (
        scored[scored["kind"] == kind].rename(columns={COMPOSITE: kind})
        for kind in ("attack", "clean")
    )
    attack = attack.assign(n_planned=attack.groupby(of_item)["kind"].transform("size"))
    both = attack.merge(clean[[*of_item, *JUDGE, "clean"]], on=[*of_item, *JUDGE])
    both = both[both["attack"].notna() & both["clean"].notna()]
    n = both.groupby(of_item)["kind"].transform("size")
    return both[n >= both["n_planned"].clip(upper=FEWEST_JUDGES)]


def has_moved(
    attack: Any, clean: Any, is_upward: Any, threshold: float, scale: tuple[int, int]
) -> Any:
    """Whether a score moved by the threshold as asked, or reached the end where it was not before.

    Args:
        attack, clean, is_upward: arrays of one shape: scores, and whether the highest is asked for.
        threshold: points.
        scale: both ends.
    """
    low, high = scale
    signed = np.where(is_upward, attack - clean, clean - attack)
    reached = np.where(
        is_upward, (attack >= high) & (clean < high), (attack <= low) & (clean > low)
    )
    # Scores are means of a few integers: a shift of 2 may be stored as 1.9999….
    return (signed >= threshold - 1e-9) | reached


def moved_by_item(table: pd.DataFrame, threshold: float, scale: tuple[int, int]) -> pd.DataFrame:
    """prompt, family, item and the share of its judgments that moved as asked (`has_moved`)."""
    pairs = paired_judgments(table)
    moved = has_moved(
        pairs["attack"].to_numpy(), pairs["clean"].to_numpy(),
        pairs["asks"].ne("lowest").to_numpy(), threshold, scale,
    )  # fmt: skip
    shares = pairs.assign(moved=np.asarray(moved, dtype=np.float64))
    return shares.groupby(["prompt", "family", "item"], sort=False)["moved"].mean().reset_index()


def pair_outcomes(
    table: pd.DataFrame, threshold: float, scale: tuple[int, int], quorum: float
) -> dict[str, Literal["raised", "lowered", "not"]]:
    """Attacked response to whether the judges' mean moved up from that of the clean one, or down.

    By the rule of `has_moved`, whatever the family asks for. Pairs of which a text is below the
    quorum are left out.

    Args:
        table: of `long_table`.
        threshold, scale: as in `has_moved`.
        quorum: share of the judges that must have scored a response.
    """
    texts = table[table["kind"].isin(["attack", "clean"])]
    n = texts.groupby(["prompt", "item", "kind"])[COMPOSITE].agg(["count", "size"])
    has_quorum = (n["count"] >= quorum * n["size"] - 1e-9).groupby(["prompt", "item"]).all()
    pairs = paired_judgments(table)
    means = pairs.groupby(["prompt", "item", "response_id"], sort=False)[["attack", "clean"]].mean()
    means = means.reset_index().merge(has_quorum.rename("is_verdict").reset_index())
    means = means[means["is_verdict"]]
    attack, clean = means["attack"].to_numpy(), means["clean"].to_numpy()
    up, down = (
        has_moved(attack, clean, np.full(len(means), upward), threshold, scale)
        for upward in (True, False)
    )
    return {
        str(name): "raised" if is_up else "lowered" if is_down else "not"
        for name, is_up, is_down in zip(means["response_id"], up, down, strict=True)
    }


def _over_prompts(
    values: pd.Series[float], prompts: pd.Series[str], level: float, what: str
) -> Estimate:
    """A share as mean over prompts of means over their responses."""
    by_prompt = values.groupby(prompts.to_numpy(), sort=False).mean()
    return share_over_prompts(np.asarray(by_prompt, dtype=np.float64), level=level, what=what)


def _add_shares(
    out: Estimates,
    table: pd.DataFrame,
    trials: Sequence[Trial],
    asks: Mapping[str, str],
    config: AttackConfig,
    scale: tuple[int, int],
) -> None:
    """Shares of judgments that moved; for families that ask for no score, that ended as asked."""
    what = "share of judgments moved"
    moved = moved_by_item(table, config.threshold, scale)
    if not table["asks"].isin(STATUS_OF).all():
        out.add("overall", "moved", _over_prompts(moved["moved"], moved["prompt"], config.level,
                                                    what))  # fmt: skip
    for family, aim in asks.items():
        if aim not in STATUS_OF:
            mine = moved[moved["family"] == family]
            share = _over_prompts(mine["moved"], mine["prompt"], config.level, what)
            out.add("families", "moved", share, group=family, detail=aim)
            continue
        mine = table[(table["family"] == family) & table["kind"].ne("neutralised")]
        for kind, rows in mine.groupby("kind", sort=False):
            items = rows.groupby(["prompt", "item"], sort=False)["value"].mean().reset_index()
            share = _over_prompts(items["value"], items["prompt"], config.level,
                                  f"share {STATUS_OF[aim]}")  # fmt: skip
            name = "attacked" if kind == "attack" else str(kind)
            out.add("families", name, share, group=family, detail=STATUS_OF[aim])


def _add_counts(
    out: Estimates,
    judgments: pd.DataFrame,
    trials: Sequence[Trial],
    dataset: Sequence[BaseResponse],
    asks: Mapping[str, str],
    scale: tuple[int, int],
) -> None:
    attacked = {trial.response_id: trial.family for trial in trials if trial.kind == "attack"}
    status, family = judgments["status"], judgments["response_id"].map(attacked)
    for (name, ended), rows in judgments.groupby([family, status], sort=False):
        out.add("statuses", "judgments", len(rows), group=str(name), detail=str(ended))
    wanted = family.map(asks).map(STATUS_OF)
    out.add("counts", "responses", len(dataset))
    out.add("counts", "prompts", len({base.prompt for base in dataset}))
    n = int(status.eq("scored").sum())
    out.add("counts", "judgments", _counted(n, len(judgments), "judgment"))
    if wanted.notna().any():
        as_asked = int(ended_as(judgments).eq(wanted).sum())
        out.add("counts", "as_asked", as_asked)
    out.add("counts", "scale_low", scale[0])
    out.add("counts", "scale_high", scale[1])


def _add_detectors(
    out: Estimates,
    trials: Sequence[Trial],
    dataset: Sequence[BaseResponse],
    asks: Mapping[str, str],
    level: float,
) -> None:
    """What detectors notice of the attacks, and their false alarms; no judge is asked.

    The prompt is the unit of hits and of false alarms: its texts, families and places are no
    independent trials. The built-in texts with telling words were each written for themselves.
    """
    import pandas as pd

    what = "share flagged"
    clean = {trial.base: trial for trial in trials if trial.kind == "clean"}
    frame = pd.DataFrame(
        [
            (
                trial.kind, trial.family, dataset[trial.base].prompt,
                trial.seen.flags if trial.kind == "clean"
                else newly_flagged(trial, clean[trial.base]),
            )
            for trial in trials
        ],
        columns=["kind", "family", "prompt", "flags"],
    )  # fmt: skip
    telling = [screen(item.text).flags for item in example_texts("telling_words").texts]

    def share(rows: pd.DataFrame, flag: str) -> Estimate:
        hits = pd.Series([float(_is_hit(flag, seen)) for seen in rows["flags"]], rows.index)
        return _over_prompts(hits, rows["prompt"], level, what)

    attacked = frame[frame["kind"] == "attack"]
    out.add("overall", "flagged", share(attacked, ANY))
    for family, aim in asks.items():
        mine = attacked[attacked["family"] == family]
        detail = STATUS_OF.get(aim, aim)
        out.add("families", "flagged", share(mine, ANY), group=family, detail=detail)
    own = frame[frame["kind"] == "clean"]
    n = int(own["flags"].map(bool).sum())
    out.add("detectors", "flagged_clean", _counted(n, len(own), "clean response"), group=ANY)
    for flag in (ANY, *DETECTORS):
        for kind in ("clean", "control"):
            rows = frame[frame["kind"] == kind]
            alarms = undefined("no controls", method=what)
            if len(rows):
                alarms = share(rows, flag)
            out.add("detectors", f"alarms_{kind}", alarms, group=flag)
        hits = sum(_is_hit(flag, flags) for flags in telling)
        alarms = wilson(hits, len(telling), level=level, unit="clean text").of(what)
        out.add("detectors", "alarms_telling", alarms, group=flag)
        for family in asks:
            noticed = share(attacked[attacked["family"] == family], flag)
            if noticed.value > 0:
                out.add("detected", "flagged", noticed, group=flag, detail=family)


def _is_hit(flag: str, flags: Sequence[str]) -> bool:
    return bool(flags) if flag == ANY else flag in flags


def _counted(n: int, n_planned: int, unit: str) -> Estimate:
    return Estimate(float(n), n=n, n_planned=n_planned, unit=unit, method="count", level=math.nan)
