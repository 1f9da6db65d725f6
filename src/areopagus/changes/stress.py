"""Two stress tests before and after: degradation by framing and criterion, paired by prompt.

A change is (baseline − variant) after less (baseline − variant) before, of prompts and variants
that are the same letter for letter in both tests, over the judges that scored all four responses: a
judge that is missing in one of them counts in none (`common_judges`).
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..aggregation.common_judges import common_judges, mean_of_known
from ..aggregation.intervals import t_interval
from ..errors import InputError, InputFault
from ..formats import listed, plain, units, words
from ..records.tables import read_scores, read_texts
from ..stress_test.counts import ConditionCounts
from ..stress_test.estimates import COMPOSITE, StressScores, read_panel
from ..stress_test.job import PANEL_FOLDER
from ..stress_test.profile import framing_name
from ..stress_test.responses import RESPONSES_FILE
from ..stress_test.run import StressRun
from .figures import ANSWER, Figure, Paired, decided_changes, models_paired, what_differs

Floats = npt.NDArray[np.float64]

_LONGEST: Final = 50
"""Letters of a value that a message still has: not a text or its hash."""
_METHOD: Final = "mean over prompts of baseline − variant"


class _Test:
    """What is read of one stress test."""

    def __init__(self, run: StressRun) -> None:
        self.run, self.record = run, run.record
        self.plan: Mapping[str, Any] = run.record["identity"]["plan"]
        self.panel: Mapping[str, Any] = run.record["identity"]["panel"]
        self.folder = run.path / PANEL_FOLDER
        if not self.folder.is_dir():
            raise InputError([InputFault(str(run.path), "has no scores: no panel judged in it")])
        self.conditions = tuple(str(one) for one in self.record["conditions"])
        self.baseline = str(self.plan["baseline"])

    @cached_property
    def texts(self) -> dict[tuple[str, str], str]:
        """(prompt, condition) to what was asked; variants alone, where nobody knows it, lack."""
        asked = self.run.path / RESPONSES_FILE
        if asked.is_file():
            with asked.open(encoding="utf-8", newline="") as table:
                return {
                    (row["prompt_id"], row["condition"]): row["prompt_text"]
                    for row in csv.DictReader(table)
                }
        rows = read_scores(self.folder)
        shown = read_texts(self.folder, [row["response_id"] for row in rows])
        return {
            (row["stress_prompt_id"], row["condition"]): shown[row["response_id"]][0]
            for row in rows
            if self.plan["judged_prompt"] == "own" or row["condition"] == self.baseline
        }

    @cached_property
    def prompts(self) -> dict[str, str]:
        """Prompt to the text of its baseline."""
        return {name: text for (name, one), text in self.texts.items() if one == self.baseline}

    @cached_property
    def scores(self) -> StressScores:
        """What every judge gave."""
        low, high = self.panel["scale"]
        given = {row["stress_prompt_id"]: "" for row in read_scores(self.folder)}
        return read_panel(
            self.folder, None,
            {(t, c): ConditionCounts() for t in self.targets for c in self.conditions},
            targets=self.targets, conditions=self.conditions, prompts={**given, **self.prompts},
            criteria=self.panel["criteria"], repeats=int(self.plan["response_repeats"]),
            panel_repeats=int(self.panel["repeats"]), refused=(), scale=(low, high),
            quorum=float(self.record["panel"]["quorum"]),
        )  # fmt: skip

    @property
    def targets(self) -> tuple[str, ...]:
        """The models under test."""
        return tuple(self.record["targets"])

    @cached_property
    def places(self) -> dict[str, int]:
        """Prompt to its place in the scores."""
        given = {row["stress_prompt_id"]: "" for row in read_scores(self.folder)}
        return {name: k for k, name in enumerate({**given, **self.prompts})}


def paired_stress(before: StressRun, after: StressRun, margin: float | None = None) -> Paired:
    """The degradation of two stress tests of one panel.

    Raises:
        InputError: another panel, baseline or judged prompt, or no model, prompt or variant in
            common.
    """
    tests = _Test(before), _Test(after)
    _require_one_instrument(tests)
    pairs = models_paired([(str(t.run.path), t.targets) for t in tests])
    rows = _prompts_in_common(tests)
    n_planned = len({*tests[0].prompts.values(), *tests[1].prompts.values()})
    shared = [
        name for name in tests[1].conditions
        if name in tests[0].conditions and name != tests[1].baseline
    ]  # fmt: skip
    same = {
        name: np.array([_is_same(tests, one, other, name) for one, other in rows], dtype=bool)
        for name in shared
    }
    framings = [name for name in shared if same[name].any()]
    if not framings:
        fault = f"no variant is the same, letter for letter, as in {before.path}"
        raise InputError([InputFault(str(after.path), fault)])
    figures: list[Figure] = []
    for names in pairs:
        whose = f", {names[1]}" if len(pairs) > 1 else ""
        figures += _figures(tests, names, rows, {n: same[n] for n in framings}, n_planned, whose)
    figures.sort(key=lambda one: one.family != ANSWER)
    return Paired(
        "Stress test: before and after", decided_changes(figures, margin=margin),
        list(_notices(tests, pairs, shared, same)),
        [
            ("coverage", f"{units(len(rows), 'prompt')} of {n_planned:,} are in both tests"),
            ("judges", "the same panel; a judge counts where it scored both responses, both times"),
        ],
    )  # fmt: skip


def _require_one_instrument(tests: Sequence[_Test]) -> None:
    """One panel, judging the same: another one is another instrument, and no change of a model."""
    before, after = tests
    faults = list(
        _told_of(
            what_differs(
                {"panel": before.panel, **_of_plan(before)},
                {"panel": after.panel, **_of_plan(after)},
            ),
            str(before.run.path),
        )
    )
    if faults:
        raise InputError(
            [InputFault(str(after.run.path), fault) for fault in faults],
            hint="A change of the panel is no change of the model: score both with one panel.",
        )


def _told_of(differ: Iterable[tuple[str, Any, Any]], before: str) -> Iterator[str]:
    """What differs in the test that is after: one line for all personas, or models, alike."""
    alike: dict[tuple[str, str], list[str]] = {}
    for name, old, new in differ:
        place, _, last = name.rpartition(".")
        told = [plain(one) for one in (old, new)]
        if last == "api_base":
            continue  # a model moves to another address and stays the same
        if None not in (old, new) and max(map(len, told)) <= _LONGEST:
            yield f"{name} is {told[1]}, and {told[0]} in {before}"
            continue
        how = "not in" if old is None else "only in" if new is None else "other than in"
        alike.setdefault((place, how), []).append(last)
    for (place, how), names in alike.items():
        yield f"{place}: {listed(names, 3)} {'is' if len(names) == 1 else 'are'} {how} {before}"


def _of_plan(test: _Test) -> dict[str, Any]:
    return {name: test.plan[name] for name in ("baseline", "judged_prompt")}


def _prompts_in_common(tests: Sequence[_Test]) -> list[tuple[str, str]]:
    """Ids of the prompts whose baseline is the same in both, each once on either side."""
    ids: dict[str, list[str]] = {}
    for name, text in tests[0].prompts.items():
        ids.setdefault(text, []).append(name)
    found = []
    for name, text in tests[1].prompts.items():
        known = ids.get(text, [])
        if known:
            found.append((known.pop(known.index(name) if name in known else 0), name))
    if not found:
        fault = f"no prompt is the same, letter for letter, as in {tests[0].run.path}"
        raise InputError([InputFault(str(tests[1].run.path), fault)])
    return found


def _is_same(tests: Sequence[_Test], one: str, other: str, framing: str) -> bool:
    """Whether the variant is the same; where neither folder keeps its text, its name stands."""
    texts = tests[0].texts.get((one, framing)), tests[1].texts.get((other, framing))
    return texts[0] == texts[1]


def _notices(
    tests: Sequence[_Test],
    pairs: Sequence[tuple[str, str]],
    shared: Sequence[str],
    same: Mapping[str, npt.NDArray[np.bool_]],
) -> Iterator[str]:
    for one, other in pairs:
        if one != other:
            yield f"Compared are {one}, before, and {other}, after."
    alone = set(tests[0].conditions) ^ set(tests[1].conditions)
    if alone:
        names = [framing_name(name) for name in sorted(alone)]
        yield f"Framings of one test alone are left out: {listed(names)}."
    for name in shared:
        differ = int((~same[name]).sum())
        if differ:
            yield (
                f"{framing_name(name)}: {units(differ, 'variant')} of {len(same[name]):,} worded "
                "otherwise in the two tests, which are left out."
            )
    if tests[1].plan["judged_prompt"] == "baseline" and not all(
        (t.run.path / RESPONSES_FILE).is_file() for t in tests
    ):
        yield "The variants' texts are not kept: they are taken for the same by their names."


def _figures(
    tests: Sequence[_Test],
    names: tuple[str, str],
    rows: Sequence[tuple[str, str]],
    same: Mapping[str, npt.NDArray[np.bool_]],
    n_planned: int,
    whose: str,
) -> Iterator[Figure]:
    """Of one model: over all framings, by framing, by criterion, and the scores themselves."""
    both = tests[0].scores, tests[1].scores
    if both[0].models != both[1].models or both[0].criteria != both[1].criteria:
        raise InputError([InputFault(str(tests[1].run.path), "other judges voted in it")])
    repeats = min(one.scores.shape[3] for one in both)
    at = [[test.places[row[k]] for row in rows] for k, test in enumerate(tests)]

    def arm(side: int, condition: str) -> Floats:
        scores = both[side]
        target, place = scores.targets.index(names[side]), scores.conditions.index(condition)
        given: Floats = scores.scores[target, place][at[side]][:, :repeats]
        if condition in same:
            given = np.where(same[condition][:, None, None, None], given, np.nan)
        return given

    texts = [tests[1].prompts[other] for _, other in rows]
    codes = {text: k for k, text in enumerate(dict.fromkeys(texts))}
    unit = np.array([codes[text] for text in texts])

    def means(arms: Sequence[tuple[int, str]]) -> Floats:
        """(arms, units, 1 + criteria): the composite first."""
        found = common_judges([arm(*one) for one in arms], both[1].models, units=unit).means
        whole = np.concatenate([found.mean(axis=2, keepdims=True), found], axis=2)
        if len(codes) == len(unit):
            return whole
        return np.stack(
            [mean_of_known(whole[:, unit == k], axis=1) for k in range(len(codes))], axis=1
        )

    base = tests[1].baseline
    low, high = both[1].scale
    shown: dict[str, Any] = {
        "table": "degradation", "measure": "degradation", "unit": "prompt", "worse": 1,
        "n_planned": n_planned, "scale": both[1].scale, "bounds": (low - high, high - low),
        "in_points": True,
    }  # fmt: skip
    arms = [(side, name) for side in (0, 1) for name in (base, *same)]
    found = means(arms).reshape(2, 1 + len(same), len(codes), -1)
    overall = (found[:, :1] - found[:, 1:]).mean(axis=1)[:, :, 0]
    keys = {"respondent": names[1], "criterion": COMPOSITE}
    if len(same) > 1:
        yield _figure(overall, f"over all framings{whose}", keys=keys, **shown)
    criteria = (COMPOSITE, *both[1].criteria)
    for framing in same:
        found = means([(0, base), (0, framing), (1, base), (1, framing)])
        deltas = np.stack([found[0] - found[1], found[2] - found[3]])
        for k, criterion in enumerate(criteria):
            keys = {"respondent": names[1], "framing": framing, "criterion": criterion}
            label = f"under {framing_name(framing)}"
            more = {}
            if k:
                label = f"{framing_name(framing)}, {words(criterion)}"
                more = {"family": "criteria", "section": "Degradation by criterion"}
            if not (k and len(criteria) == 2):  # one criterion is the composite
                yield _figure(deltas[:, :, k], label + whose, keys=keys, **shown, **more)
    shown |= {"table": "levels", "measure": "score", "worse": -1, "bounds": (low, high)}
    for condition in (base, *same):
        found = means([(0, condition), (1, condition)])
        keys = {"respondent": names[1], "framing": condition, "criterion": COMPOSITE}
        yield _figure(
            found[:, :, 0], f"{framing_name(condition)}{whose}", keys=keys, family="scores",
            section="Scores", **shown,
        )  # fmt: skip


def _figure(values: Floats, label: str, **more: Any) -> Figure:
    """Of the values before and after of every prompt, (2, prompts)."""
    kept = np.where(np.isnan(values).any(axis=0), np.nan, values)
    before, after = (t_interval(one, unit="prompt").of(_METHOD) for one in kept)
    n = int((~np.isnan(kept[0])).sum())
    what = more["measure"]
    return Figure(
        label=f"{what} {label}", what=what, short=label, before=before, after=after,
        by_unit=kept[1] - kept[0], n=n, **more,
    )  # fmt: skip
