"""Two stress tests before and after: every contrast of the test, paired by prompt.

Prompts and variants count that are the same letter for letter in both tests.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from ..aggregation.effects import Contrast
from ..errors import InputError, InputFault
from ..formats import listed, plain, units, words
from ..records.tables import read_scores, read_texts
from ..stress_test.answer import framing_name
from ..stress_test.config import StressConfig
from ..stress_test.contrasts import COMPOSITE, arm_of, coded, columns_of, contrasts_of, long_table
from ..stress_test.counts import ConditionCounts
from ..stress_test.job import PANEL_FOLDER
from ..stress_test.responses import RESPONSES_FILE
from ..stress_test.run import StressRun
from ..stress_test.scores import StressScores, read_panel
from .contrasts import changes_of, describe
from .figures import Paired, models_paired, what_differs

if TYPE_CHECKING:
    import pandas as pd

_LONGEST: Final = 50
"""Letters of a value that a message still has: not a text or its hash."""


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
        )  # fmt: skip

    @property
    def targets(self) -> tuple[str, ...]:
        """The models under test."""
        return tuple(self.record["targets"])


def paired_stress(before: StressRun, after: StressRun, margin: float | None = None) -> Paired:
    """What two stress tests of one panel have changed by.

    Raises:
        InputError: another panel, baseline or judged prompt, or no model, prompt or variant in
            common.
    """
    tests = _Test(before), _Test(after)
    _require_one_instrument(tests)
    if tests[0].scores.criteria != tests[1].scores.criteria:
        raise InputError([InputFault(str(after.path), "other judges voted in it")])
    pairs = models_paired([(str(t.run.path), t.targets) for t in tests])
    tables = [
        _long_table(test, {names[side]: names[1] for names in pairs})
        for side, test in enumerate(tests)
    ]
    n_planned = len({*tests[0].prompts.values(), *tests[1].prompts.values()})
    common = {*tests[0].prompts.values()} & {*tests[1].prompts.values()}
    if not common:
        fault = f"no prompt is the same, letter for letter, as in {before.path}"
        raise InputError([InputFault(str(after.path), fault)])
    shared = [
        name for name in tests[1].conditions
        if name in tests[0].conditions and name != tests[1].baseline
    ]  # fmt: skip
    same = {name: _same(tables, name) for name in shared}
    if not any(any(one) for one in same.values()):
        fault = f"no variant is the same, letter for letter, as in {before.path}"
        raise InputError([InputFault(str(after.path), fault)])
    criteria = tests[1].scores.criteria
    config = StressConfig(baseline=tests[1].baseline)
    levels = [
        Contrast(
            {arm_of(names[1], condition): 1.0}, columns_of(criteria)[COMPOSITE],
            {"table": "levels", "measure": "score", "respondent": names[1], "framing": condition,
             "criterion": COMPOSITE},
            "scores",
        )
        for names in pairs for condition in (tests[1].baseline, *shared)
    ]  # fmt: skip
    low, high = tests[1].scores.scale
    changes = changes_of(
        tables[0], tables[1], [*contrasts_of(tables[1], criteria, config), *levels],
        partial(coded, criteria=criteria),
        partial(_described, criteria=criteria, several=len(pairs) > 1),
        scale=(low, high), margin=margin,
    )  # fmt: skip
    return Paired(
        "Stress test: before and after", changes,
        list(_notices(tests, pairs, shared, same)),
        [
            ("coverage", f"{units(len(common), 'prompt')} of {n_planned:,} are in both tests"),
            ("judges", "the same panel; a judge counts where it scored every response, both times"),
        ],
    )  # fmt: skip


def _long_table(test: _Test, called: Mapping[str, str]) -> pd.DataFrame:
    """The long table of some models, with prompts told apart by their baselines' texts.

    Args:
        test: a stress test.
        called: model to what it is called in both tables.
    """
    table = long_table(test.scores)
    table = table[table["respondent"].isin(list(called))]
    prompt = table["item"].str.rpartition(" #")[0]
    seen: dict[str, int] = {}
    place = {
        name: seen[text]
        for name, text in zip(test.scores.prompts, test.scores.units, strict=True)
        if seen.update({text: seen.get(text, -1) + 1}) is None
    }
    respondent = table["respondent"].map(called)
    keys = zip(prompt, table["condition"], strict=True)
    return table.assign(
        respondent=respondent,
        arm=list(map(arm_of, respondent, table["condition"])),
        item=prompt.map(place).map(str) + " #" + table["response_repeat"].map(str),
        text=[test.texts.get(key, "") for key in keys],
    )


def _same(tables: Sequence[pd.DataFrame], condition: str) -> list[bool]:
    """Of each prompt that both tests have, whether its variant is the same in both."""
    texts = [
        dict(zip(zip(rows["unit"], rows["item"], strict=True), rows["text"], strict=True))
        for rows in (table[table["condition"] == condition] for table in tables)
    ]
    prompts = {place[0]: texts[1][place] == text for place, text in texts[0].items()
               if place in texts[1]}  # fmt: skip
    return list(prompts.values())


def _described(
    contrast: Contrast, *, criteria: Sequence[str], several: bool
) -> Mapping[str, Any] | None:
    """What is shown of a contrast: the composite's degradation is the answer."""
    keys = contrast.keys
    criterion, framing = keys.get("criterion", COMPOSITE), keys.get("framing", "")
    if criterion != COMPOSITE and len(criteria) == 1:
        return None  # one criterion is the composite
    whose = f", {keys['respondent']}" if several else ""
    name = framing_name(framing) if framing else "over all framings"
    if keys["table"] == "degradation":
        if criterion == COMPOSITE:
            label = f"under {name}" if framing else name
            return describe(contrast, label=label + whose, worse=1)
        label = f"{name}, {words(criterion)}{whose}"
        return describe(
            contrast, label=label, worse=1, family="criteria", section="Degradation by criterion"
        )
    if keys["table"] == "levels":
        return describe(contrast, label=name + whose, worse=-1, family="scores", section="Scores")
    sections = {
        "contrast": "Degradation, one against others", "asymmetry": "Agreement and disagreement",
        "comparison": "Between models",
    }  # fmt: skip
    section = sections.get(keys["table"])
    return section and describe(contrast, family=keys["table"], section=section)  # type: ignore[return-value]


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


def _notices(
    tests: Sequence[_Test],
    pairs: Sequence[tuple[str, str]],
    shared: Sequence[str],
    same: Mapping[str, Sequence[bool]],
) -> Iterator[str]:
    for one, other in pairs:
        if one != other:
            yield f"Compared are {one}, before, and {other}, after."
    alone = set(tests[0].conditions) ^ set(tests[1].conditions)
    if alone:
        names = [framing_name(name) for name in sorted(alone)]
        yield f"Framings of one test alone are left out: {listed(names)}."
    for name in shared:
        differ = same[name].count(False)
        if differ:
            yield (
                f"{framing_name(name)}: {units(differ, 'variant')} of {len(same[name]):,} worded "
                "otherwise in the two tests, which are left out."
            )
    if tests[1].plan["judged_prompt"] == "baseline" and not all(
        (t.run.path / RESPONSES_FILE).is_file() for t in tests
    ):
        yield "The variants' texts are not kept: they are taken for the same by their names."
