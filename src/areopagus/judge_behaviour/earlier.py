"""Two runs of the same judges on the same texts, paired: what drift is estimated from."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..aggregation.intervals import mean_of_known
from ..formats import listed, words
from ..records.run_folder import panel_of
from ..records.tables import judgment_frame
from ..run import Run
from .estimates import Earlier
from .scores import JudgeScores, texts_of

_MAY_DIFFER: Final = ("models", "personas", "repeats")
"""Parts of a panel's identity that pairing takes care of; all others say what is asked."""


def earlier_of(later: Run, now: JudgeScores, before: Run, then: JudgeScores) -> Earlier:
    """The scores of both runs on the texts that both have, judge by judge.

    Judges are paired by persona and model; where no model has the same name in both and there are
    as many, in their order. A judgment whose reply the later run took from the ledger of the
    earlier one was not asked anew, and does not count.
    """

    def none(reason: str) -> Earlier:
        empty = np.empty((0, 0))
        return Earlier(empty, empty, np.empty(0, dtype=np.int64), 0, reason=reason)

    old, new = (panel_of(run.record["identity"]) for run in (before, later))
    asked = [name for name in {**old, **new} if name not in _MAY_DIFFER]
    if other := [name for name in asked if old.get(name) != new.get(name)]:
        return none(f"the earlier run asked otherwise: another {listed([words(o) for o in other])}")
    personas = {name for name, sha in new["personas"].items() if old["personas"].get(name) == sha}
    named = _models(list(old["models"]), list(new["models"]))
    judges = [
        k for k, pair in enumerate(zip(now.personas, now.models, strict=True))
        if pair[0] in personas and pair[1] in named
    ]  # fmt: skip
    if not judges:
        return none("the runs have no judge in common")
    texts, past = texts_of(later, now.ids), texts_of(before, then.ids)
    if not texts or not past:
        return none("one of the runs keeps no texts: equal responses cannot be told")
    place = {past[name]: k for k, name in reversed(list(enumerate(then.ids))) if name in past}
    rows = [(k, place[texts[n]]) for k, n in enumerate(now.ids) if texts.get(n) in place]
    if not rows:
        return none("the runs have no response in common, word for word")
    mine, theirs = (np.array(one, dtype=np.int64) for one in zip(*rows, strict=True))
    of_pair = {pair: k for k, pair in enumerate(zip(then.personas, then.models, strict=True))}
    columns = [of_pair.get((now.personas[k], named[now.models[k]]), -1) for k in judges]
    judges = [k for k, column in zip(judges, columns, strict=True) if column >= 0]
    columns = [column for column in columns if column >= 0]
    after, was = now.composites[mine][:, judges], then.composites[theirs][:, columns]
    most = min(after.shape[2], was.shape[2])
    after, was = after[..., :most], was[..., :most]
    if later.record.get("ledger") == before.record.get("ledger"):
        kept, gone = _keys(later, now), _keys(before, then)
        keys, past_keys = kept[mine][:, judges], gone[theirs][:, columns]
        stored = (keys[..., :most] == past_keys[..., :most]) & (keys[..., :most] != "")
        after = np.where(stored, np.nan, after)
        if np.isnan(after).all():
            return none(
                "nothing was asked anew: both runs read one ledger, and the later one took its "
                "replies from there; score again with another ledger"
            )
    personas_of, models_of = (
        tuple(one[k] for k in judges) for one in (now.personas, now.models)
    )  # fmt: skip
    both = ~np.isnan(after) & ~np.isnan(was)
    return Earlier(
        mean_of_known(np.where(both, was, np.nan), axis=2),
        mean_of_known(np.where(both, after, np.nan), axis=2),
        now.prompt[mine], now.prompts, personas_of, models_of,
    )  # fmt: skip


def _models(old: list[str], new: list[str]) -> dict[str, str]:
    """Name of a model now to its name then."""
    same = {name: name for name in new if name in old}
    if same or len(old) != len(new):
        return same
    return dict(zip(new, old, strict=True))


def _keys(run: Run, scores: JudgeScores) -> Any:
    """Shape (R, J, T): ledger key of each judgment's first call; "" where there was none."""
    frame = judgment_frame(
        run.path, ["response_id", "persona", "model", "repeat", "ledger_key"]
    )  # fmt: skip
    place = {name: k for k, name in enumerate(scores.ids)}
    judge = {pair: k for k, pair in enumerate(zip(scores.personas, scores.models, strict=True))}
    found = np.full(scores.values.shape[:3], "", dtype=object)
    for name, persona, model, repeat, key in frame.itertuples(index=False):
        if name in place:
            found[place[name], judge[persona, model], repeat] = key or ""
    return found


def told_of(run: Run) -> dict[str, Any]:
    """What run.json says of a run that was compared: its name, when, and which models answered."""
    frame = judgment_frame(run.path, ["model", "answered_by"]).dropna().drop_duplicates()
    answered: dict[str, list[str]] = {}
    for model, name in frame.itertuples(index=False):
        answered.setdefault(str(model), []).append(str(name))
    sessions = run.record.get("sessions") or [{}]
    return {
        "name": run.path.name,
        "started": str(sessions[0].get("started") or "")[:10],
        "answered_by": answered,
    }
