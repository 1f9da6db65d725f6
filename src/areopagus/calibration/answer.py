"""What a calibration, or an agreement, says first: the answer, and whether it can be trusted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..aggregation.estimate import Estimate
from ..aggregation.intervals import MIN_UNITS
from ..aggregation.one_more_person import (
    ABOVE_CHANCE,
    AT_LEAST_HALF,
    BETTER,
    CONSTANT,
    DISAGREES,
    NOISE,
    UNCONFIRMED,
    UNDECIDED,
    UNDEFINED,
    WORSE,
    verdict_against_people,
)
from ..formats import (
    count,
    estimate,
    listed,
    listed_all,
    number,
    said,
    told_by_reason,
    units,
    words,
)
from ..records.estimates import estimate_at, estimates_by, select
from ..records.types import OVERALL
from . import preferences_answer as preferences
from .corrections import ADOPTED
from .dataset import COMPOSITE
from .facets import scale_use
from .judges import NOT_ABOVE_CHANCE, SOURCE_ONLY
from .labels import CATEGORIES
from .people import ALIKE, BELOW_CHANCE, BELOW_CHANCE_CAUSES, EVERY, contradictions

if TYPE_CHECKING:
    import pandas as pd

FEW_PROMPTS: Final = 20
"""Below so many prompts some intervals are too short, and judges are named by mistake too often,
not to say so."""

_IS: Final = {
    BETTER: "better than one more person",
    AT_LEAST_HALF: "at least half as good as one more person",
    ABOVE_CHANCE: "better than chance",
    WORSE: "worse than one more person",
    UNCONFIRMED: "not shown to be better than chance",
    DISAGREES: "shown to disagree with people",
    CONSTANT: "constant",
}
"""What the panel is; every other verdict leaves that undecided."""

AT_LEAST_HALF_NOTE: Final = (
    "At least half: no difference is shown, and at least half of a person's agreement is."
)

NO_AGREEMENT: Final = (CONSTANT, DISAGREES, UNCONFIRMED)
"""Verdicts on a panel whose scores are not worth correcting, or keeping."""

MOST_CAUTIONS: Final = 6
"""Cautions at the head; the sections hold all."""

NEARLY_CROSSED: Final = 0.9
"""Share of a crossed design's ratings from which those that are missing are told as gaps in it."""

MOST_NAMED: Final = 2
"""Criteria of one verdict that a sentence names; more are counted."""

Keys = Mapping[Any, Any]


def _which(names: Sequence[str], n: int, called: str = "criteria") -> str:
    """Names the criteria, or says how many of `n` they are."""
    if len(names) <= MOST_NAMED:
        return listed_all(names)
    return f"all {n} {called}" if len(names) == n else f"{len(names)} of {n} {called}"


class Answer:
    """The sentences at the head, made of run.json and the estimates.

    Attributes:
        record, estimates: what they are made of.
        main: the keys of the main target; empty where there is none.
    """

    def __init__(self, record: Mapping[str, Any], estimates: pd.DataFrame) -> None:
        self.record, self.estimates = record, estimates
        target = record.get("target")
        self.main: dict[str, str] = (
            {"criterion": target["criterion"], "detail": target["kind"]} if target else {}
        )

    def of(self, table: str, measure: str, **keys: str | None) -> Estimate | None:
        """One estimate, or None."""
        return estimate_at(self.estimates, table, measure, **keys)

    def n(self, table: str, measure: str, **keys: str | None) -> int:
        """One count; 0 where there is none."""
        found = self.of(table, measure, **keys)
        return 0 if found is None or math.isnan(found.value) else int(found.value)

    def groups(
        self, table: str, *keys: str, **where: str | None
    ) -> list[tuple[dict[str, Any], dict[str, Estimate]]]:
        """Rows that belong together; see `estimates_by`."""
        return list(estimates_by(select(self.estimates, table, **where), keys))

    def criteria(self, table: str) -> list[tuple[dict[str, Any], dict[str, Estimate]]]:
        """The rows of each criterion and what people gave."""
        return self.groups(table, "criterion", "detail")

    def named(self, keys: Keys) -> str:
        """The criterion in words; with what people gave where that is no matter of course."""
        name = words(str(keys["criterion"]))
        kinds = set(select(self.estimates, "people")["detail"])
        return f"{name} ({keys['detail']}s)" if len(kinds) > 1 else name

    @property
    def is_across(self) -> bool:
        """Whether every prompt has one response, so that order is that across prompts."""
        n = self.n("matched", "n_responses")
        return n > 0 and n == self.n("matched", "n_prompts")

    @property
    def where(self) -> str:
        """Where pairs of responses were counted."""
        return "across prompts" if self.is_across else "within prompts"

    @property
    def others(self) -> str:
        """What panel and person are compared with; across prompts two raters may share nothing."""
        return "the mean of the other raters" if self.is_across else "each other rater"

    @property
    def has_few_prompts(self) -> bool:
        """Whether few prompts were both rated and scored."""
        return 0 < self.n("matched", "n_prompts_both") < FEW_PROMPTS

    # Panel with people

    def headline(self) -> Iterator[str]:
        """Says how the panel compares with one more person: on the main criterion, then on others.

        The main criterion is the composite where there is one. A rater whom the panel repeats comes
        first, criteria that are not calibrated after the main one.
        """
        yield from self._copies()
        entries = [
            *(("ranking responses", one) for one in self.verdicts()),
            *(
                ("choosing between two responses", one)
                for one in preferences.verdicts(self.estimates)
            ),
            *(("labelling responses", one) for one in self.label_verdicts()),
        ]
        refused = self.refused()
        if entries:
            yield self._on_main(*entries[0], is_alone=len(entries) == 1 and not refused)
        else:
            share_none = "people and panel share no criterion"
            why = "no other rater is left" if self.record.get("copies") else share_none
            yield f"Nothing can be compared: {why}."
        if refused:
            yield f"Not calibrated on {listed_all(refused)}, where people agree less than chance."
        others, n = entries[1:], len(entries[1:])
        called = "criteria" if self.main.get("criterion") == COMPOSITE else "other criteria"
        by_verdict: dict[str, list[str]] = {}
        for _, (verdict, name) in others:
            by_verdict.setdefault(_IS.get(verdict, UNDECIDED), []).append(name)
        parts = [
            f"{text} on {_which(by_verdict[text], n, called)}"
            for text in (*_IS.values(), UNDECIDED)
            if text in by_verdict
        ]
        if parts:
            yield f"By criterion, it is {'; '.join(parts)}."

    def _on_main(self, task: str, entry: tuple[str, str], *, is_alone: bool) -> str:
        """The sentence on the main criterion."""
        verdict, name = entry
        if self.main.get("criterion") == COMPOSITE:
            name = f"the {name}"
        if verdict == CONSTANT:
            what = "label" if task.startswith("label") else "score"
            return f"Always the same {what} on {name}."
        if verdict == DISAGREES:
            return f"Shown to disagree with people on {name}: is the scale reversed?"
        on = task if name == OVERALL and is_alone else f"{task} on {name}"
        told = f"it is undecided how the panel compares with one more person at {on}"
        if verdict in _IS:
            told = f"the panel is {_IS[verdict]} at {on}"
        return f"Compared with {self.these_raters}, {told}."

    @property
    def these_raters(self) -> str:
        """The raters who are compared, in words."""
        matched = self.record.get("matched", {})
        if matched.get("has_unnamed_raters"):
            return "these unnamed raters"
        copied = {one["rater"] for one in self.record.get("copies", ())}
        n = self.n("matched", "n_raters") - len(copied)
        if matched.get("pool"):
            return f"these {units(n, 'pool')} of raters"
        return "this rater" if n == 1 else f"these {n:,} raters"

    def _copies(self) -> Iterator[str]:
        """Which rater the panel repeats, and who is left to compare it with."""
        copies = self.record.get("copies", [])
        several = len({one["criterion"] for one in copies}) > 1 or len(self.criteria("panel")) > 1
        for rater in dict.fromkeys(one["rater"] for one in copies):
            mine = [one for one in copies if one["rater"] == rater]
            on = f" on {listed([words(one['criterion']) for one in mine], 3)}" if several else ""
            yield (
                f"The panel orders all {units(mine[0]['n'], 'response')} exactly as rater {rater} "
                f"does{on}: it seems to be a copy, and its agreement is that of {rater}, who is "
                "left out of the comparison."
            )

    def refused(self) -> list[str]:
        """The criteria, in words, that are not calibrated because people agree less than chance."""
        names = []
        for one in contradictions(self.estimates):
            keys = {"criterion": one.criterion, "detail": one.kind}
            if one.kind == "label":
                names.append(self.label_named(keys))
            elif one.kind == "preference":
                names.append(preferences.named(self.estimates, one.criterion))
            else:
                names.append(self.named(keys))
        return names

    def verdicts(self) -> Iterator[tuple[str, str]]:
        """The verdict of `verdict_against_people`, and the criterion, of each that was rated.

        A criterion of disagreement comes with its figure.
        """
        for keys, figures in self.criteria("panel"):
            verdict, name = self.verdict(keys, figures), self.named(keys)
            if verdict == DISAGREES:
                name += f" (tau {number(self._tau(keys, figures).value)})"
            yield verdict, name

    def verdict(self, keys: Keys, figures: Mapping[str, Estimate]) -> str:
        """What can be said of the panel on one rated criterion."""
        people, difference = (
            self.of("one person", name, rater=None, **keys)
            for name in ("tau_of_one", "tau_difference")
        )
        return verdict_against_people(
            self._tau(keys, figures), people, difference, is_constant="only_score" in figures
        )

    def _tau(self, keys: Keys, figures: Mapping[str, Estimate]) -> Estimate:
        """The panel's tau beside one more person, or with the mean of people."""
        beside = self.of("one person", "tau_of_panel", rater=None, **keys)
        return beside if beside is not None and beside.is_defined else figures["tau"]

    def trust(self) -> Iterator[tuple[str, str]]:
        """Whether it can be trusted: design, coverage, people, panel, corrections, cautions."""
        yield from self._design()
        yield from self._coverage()
        yield from self._people(self.main)
        yield from preferences.trust(self.estimates)
        yield from self._labels()
        if not (self.has_labels_only or self.is_without_agreement):
            yield from self._corrected()
        if told := scale_use(self.estimates):
            yield "scale use", told
        cautions = list(self._cautions())
        if (left := len(cautions) - MOST_CAUTIONS) > 0:
            cautions = [*cautions[:MOST_CAUTIONS], f"{left} more in the report."]
        if cautions:
            yield "cautions", " ".join(cautions)

    def _design(self) -> Iterator[tuple[str, str]]:
        """Who rated what, and whether everybody rated everything."""
        n = {name: self.n("matched", f"n_{name}s") for name in ("rater", "prompt", "response")}
        of_prompt, rest = divmod(n["response"], max(n["prompt"], 1))
        size = f"{units(n['prompt'], 'prompt')} x {units(of_prompt, 'response')}"
        if rest:
            size = f"{units(n['prompt'], 'prompt')}, {units(n['response'], 'response')}"
        pool = self.record.get("matched", {}).get("pool")
        who = f"{units(n['rater'], 'pool')} of raters (by {pool})" if pool else None
        is_unnamed = self.record.get("matched", {}).get("has_unnamed_raters")
        who = "unnamed raters" if is_unnamed else who
        size = f"{who or units(n['rater'], 'rater')} x {size}"
        compared = preferences.design(self.estimates)
        rated = [
            (keys, int(figures["n_ratings"].value))
            for keys, figures in self.criteria("people")
            if keys["criterion"] != COMPOSITE and "n_ratings" in figures
        ]
        if not rated:
            n_labels = self.n("matched", "n_labels")
            labelled = units(n_labels, "label") if n_labels else ""
            told = ", ".join(part for part in (compared, labelled) if part) or "no ratings"
            yield "design", f"{size}, {told}"
            return
        n_ratings = sum(number_of for _, number_of in rated)
        n_crossed = len(rated) * n["rater"] * n["response"]
        each = number(n_ratings / (len(rated) * n["response"]), 1)
        everybody = f"Every {'pool' if pool else 'rater'} rated every response"
        if is_unnamed:
            told = f"A response has {each} ratings on average"
        elif n_ratings == n_crossed:
            told = everybody
        elif NEARLY_CROSSED * n_crossed <= n_ratings < n_crossed:
            n_missing = n_crossed - n_ratings
            missing = "one rating" if n_missing == 1 else units(n_missing, "rating")
            told = f"{everybody}, except {missing}"
        elif rotation := self.rotation(rated[0][0]):
            told = f"In rotation: {rotation}"
        else:
            told = f"A response has {each} ratings on average"
        sentences = [size, told]
        if compared:
            sentences.append(f"Also {compared}")
        if self.is_across:
            sentences.append("A prompt has one response: order is that across prompts")
        yield "design", f"{'. '.join(sentences)}."

    def _coverage(self) -> Iterator[tuple[str, str]]:
        """What is missing of judgments and ratings, and what it moves; nothing where nothing is."""
        both, scored = self.of("matched", "n_both"), self.of("matched", "n_scored")
        if both is None or scored is None:
            return
        judged = {
            str(k["group"]): int(f["n_judgments"].value)
            for k, f in self.groups("matched", "group", factor="status")
        }
        parts = []
        if (n := sum(judged.values())) != judged.get("scored", 0):
            parts.append(f"{count(judged.get('scored', 0))} of {units(n, 'judgment')} scored")
        if both.n != both.n_planned:
            planned = units(both.n_planned or 0, "response")
            called = "labelled" if self.has_labels_only else "rated"
            parts.append(f"{count(both.n)} of {planned} {called} and scored")
        unbalanced, moved = (self.of("matched", name) for name in ("n_unbalanced", "moved"))
        if unbalanced is not None and moved is not None:
            plain = self.of("panel", "tau_of_plain_means", **self.main) if self.main else None
            without = "" if plain is None else f" (tau would be {number(plain.value)} without)"
            parts.append(
                f"UNBALANCED: a judge is missing on {count(unbalanced.n)} of "
                f"{units(unbalanced.n_planned or 0, 'response')}; the additive fit moves these by "
                f"{number(moved.value)} points{without}"
            )
        if parts:
            yield "coverage", "; ".join(parts)

    def _people(self, keys: Keys) -> Iterator[tuple[str, str]]:
        """How far people agree on one criterion, in a line."""
        alpha = first_defined(
            [self.of("people", f"alpha_{name}", **keys) for name in ("interval", "ordinal")]
            if keys
            else []
        )
        tau = self.of("people", "tau", **keys) if keys else None
        if alpha is None:
            if tau is not None:
                yield "people", f"agreement undefined: {said(tau.reason)}"
            return
        told = f"alpha {estimate(alpha)}{self._on(keys)}"
        worth, m = (self.of("people", name, **keys) for name in ("mean_worth", "raters_a_response"))
        if worth is not None and worth.is_defined and m is not None:
            told += f"; reliability of the mean of {m.value:.2g} raters {number(worth.value)}"
        yield "people", told

    def rotation(self, keys: Keys) -> str:
        """What a rater saw of a prompt, where it was but part of the responses; else nothing."""
        n = {
            name: self.n("people", name, **keys)
            for name in ("n_rotated", "n_balanced", "seen_least", "seen_most", "responses_least",
                         "responses_most")
        }  # fmt: skip
        if not n["n_rotated"]:
            return ""
        seen, of = (
            f"{n[f'{name}_least']}"
            + (f" to {n[f'{name}_most']}" if n[f"{name}_most"] > n[f"{name}_least"] else "")
            for name in ("seen", "responses")
        )
        balanced = "balanced"
        if n["n_balanced"] < n["n_rotated"]:
            balanced = f"{n['n_balanced']} balanced" if n["n_balanced"] else "not balanced"
        return f"{seen} of {of} responses a rater in {units(n['n_rotated'], 'prompt')}, {balanced}"

    def _on(self, keys: Keys) -> str:
        """ " on clarity", where there are several criteria."""
        several = self.criteria("panel") or self.criteria("people")
        return f" on {self.named(keys)}" if len(several) > 1 else ""

    @property
    def is_without_agreement(self) -> bool:
        """Whether no agreement of the panel is shown on the main target: nothing is advised."""
        return any(
            dict(keys) == self.main and self.verdict(keys, figures) in NO_AGREEMENT
            for keys, figures in self.criteria("panel")
        )

    def _corrected(self) -> Iterator[tuple[str, str]]:
        earned = [
            f"{name.format(words(way))} predicts people better on held-out prompts."
            for name, table, measure, plain in (
                ("A mean with {} weights", "weights", "agreement", "equal"),
                ("A correction by {}", "maps", "error", "as is"),
            )
            for way in self.adopted(table, measure)
            if way != plain
        ]
        if earned:
            yield "corrected", " ".join(earned).replace("correction by line", "linear correction")
        elif not self.main:
            return  # people gave no ratings that could be corrected to
        elif (why := self.of("maps", "error", group=None)) is not None:
            yield "corrected", f"nothing: {said(why.reason)}"
        elif self.groups("maps", "group"):
            yield (
                "corrected",
                "no correction is better on prompts not used to fit it: keep the scores",
            )

    def adopted(self, table: str, measure: str) -> list[str]:
        """The ways of a table of corrections that were earned."""
        return [
            str(keys["group"])
            for keys, found in self.groups(table, "group")
            if measure in found and found[measure].verdict == ADOPTED
        ]

    # Labels

    @property
    def has_labels_only(self) -> bool:
        """Whether people gave labels, and neither ratings nor preferences."""
        n = {name: self.n("matched", f"n_{name}s") for name in ("label", "rating", "preference")}
        return n["label"] > 0 and n["rating"] == n["preference"] == 0

    def label_named(self, keys: Keys) -> str:
        """The criterion of labels in words; marked where there are ratings too."""
        name = words(str(keys["criterion"]))
        return name if self.has_labels_only else f"{name} (labels)"

    def label_verdicts(self) -> Iterator[tuple[str, str]]:
        """The same as `verdicts` of each criterion of labels."""
        for keys, figures in self.groups("labels", "criterion"):
            verdict, name = self.label_verdict(keys, figures), self.label_named(keys)
            if verdict == DISAGREES:
                name += f" (kappa {number(figures['kappa'].value)})"
            yield verdict, name

    def label_verdict(self, keys: Keys, figures: Mapping[str, Estimate]) -> str:
        """What can be said of the panel on one criterion of labels."""
        name = {"criterion": keys["criterion"]}
        by_label = [one["n_panel"].value for _, one in self.groups(CATEGORIES, "group", **name)]
        return verdict_against_people(
            figures["kappa"],
            self.of("label people", "alpha", **name),
            self.of("label one person", "difference", **name),
            is_constant=sum(by_label) > 1 and max(by_label) == sum(by_label),
        )

    def _labels(self) -> Iterator[tuple[str, str]]:
        """The first criterion of labels: people, panel, and what the rate becomes."""
        found = self.groups("labels", "criterion")
        if not found:
            return
        keys, figures = found[0]
        on = f" on {self.label_named(keys)}" if len(found) > 1 or not self.has_labels_only else ""
        of = "" if self.has_labels_only else "labels, "
        kappa, n_panel = figures["kappa"], figures.get("n_panel")
        if n_panel is not None and n_panel.n != n_panel.n_planned:
            n_missing = (n_panel.n_planned or 0) - n_panel.n
            of_all = units(n_panel.n_planned or 0, "response")
            told = f"no label of the panel on {count(n_missing)} of {of_all}{on}"
            both = self.of("matched", "n_both")
            if both is None or n_missing != (both.n_planned or 0) - both.n:  # else it is said
                yield f"{of}coverage", told
        yield from self._label_people(keys, f"{of}people", on)
        if kappa.is_defined:  # else a caution says why
            told = f"kappa {estimate(kappa)}, accuracy {estimate(figures['accuracy'])}{on}"
            name = {"criterion": keys["criterion"]}
            one, apart = (self.of("label one person", n, **name) for n in ("of_one", "difference"))
            if one is not None and apart is not None and one.is_defined and apart.is_defined:
                told += (
                    f"; kappa of one more person {number(one.value)}, difference "
                    f"{estimate(apart, is_signed=True)}"
                )
            yield f"{of}panel", told
        rates = self.groups("label rates", "group", criterion=keys["criterion"])
        if not rates:
            return
        # of two labels one is enough: the one that a high score, or a yes, stands for
        which, rate = rates[-1]
        told = f"{which['group']}: {estimate(rate['raw'])} by the panel"
        corrected = rate["corrected"]
        if not corrected.is_defined:
            yield f"{of}rate", f"{told}; not corrected: {said(corrected.reason)}"
            return
        checked = rate["n_checked"]
        chance = ", if they are a random sample" if corrected.verdict == "if random" else ""
        told += (
            f", {estimate(corrected)} corrected by people's labels of {count(checked.n)} of "
            f"{count(checked.n_planned or 0)} responses{chance}"
        )
        yield f"{of}rate", told

    def _label_people(self, keys: Keys, name: str, on: str) -> Iterator[tuple[str, str]]:
        found = dict(self.groups("label people", "criterion", criterion=keys["criterion"])[0][1])
        alpha = found.get("alpha")
        if alpha is None or not alpha.is_defined:
            yield name, f"agreement undefined{on}: {said(alpha.reason if alpha else None)}"
            return
        same = found["agreement"]
        yield name, f"alpha {estimate(alpha)}{on}; two say the same on {number(same.value)}"

    def _label_cautions(self) -> Iterator[str]:
        found = _by_verdict(self.label_verdicts())
        if "noise" in found:
            yield (
                f"People's labels are not shown to agree better than chance on "
                f"{listed(found['noise'], 2)}: nothing can be calibrated against that."
            )
        if "undecided" in found:
            yield (
                "Where it is undecided the panel may have less than half of a person's kappa: "
                "label more prompts."
            )
        if "few" in found:
            yield (
                f"Too few prompts labelled on {listed(found['few'], 3)}: an interval needs "
                f"{MIN_UNITS}."
            )
        if "undefined" in found:
            why = told_by_reason(
                (words(str(keys["criterion"])), figures["kappa"].reason or "")
                for keys, figures in self.groups("labels", "criterion")
                if not figures["kappa"].is_defined
            )
            yield f"No kappa on {listed(found['undefined'], 3)}: {why}."

    def _cautions(self) -> Iterator[str]:
        """What a reader must know before the numbers; first why something cannot be told."""
        n_left = self.record.get("n_raters_left", 0)
        if self.record.get("copies") and n_left < 3:
            lost = (
                "one more person can only be compared with a single other rater"
                if n_left == 2
                else "agreement among people, and one more person, cannot be estimated"
            )
            yield f"With {units(n_left, 'rater')} left, {lost}."
        if refused := contradictions(self.estimates):
            names = [f"{words(one.criterion)} ({one.figure})" for one in refused]
            part = "it" if len(names) == 1 else "them"
            composite = (
                f" The composite contains {part} and is not calibrated either."
                if self.record.get("composite_refused")
                else ""
            )
            yield (
                f"People agree less than chance on {listed_all(names)}. Likely causes: "
                f"{BELOW_CHANCE_CAUSES}.{composite}"
            )
        if told := self._alike_raters():
            yield told
        yield from self._label_cautions()
        noise: list[str] = []
        for keys, figures in self.criteria("panel"):
            if self.verdict(keys, figures) == NOISE:
                people = self.of("one person", "tau_of_one", rater=None, **keys)
                told = f" (tau {estimate(people)})" if people is not None else ""
                noise.append(f"{self.named(keys)}{told}")
        if noise:
            yield (
                f"People are not shown to agree better than chance on {listed(noise, 2)}: nothing "
                "can be calibrated against that."
            )
        yield from preferences.cautions(self.estimates)
        found = _by_verdict([*self.verdicts(), *preferences.verdicts(self.estimates)])
        if "undecided" in found:
            yield (
                "Where it is undecided the panel may have less than half of a person's agreement: "
                "rate more prompts."
            )
        if "few" in found:
            n = self.n("matched", "n_prompts_both")
            yield f"{units(n, 'prompt')} rated and scored: an interval needs {MIN_UNITS}."
        if "undefined" in found:
            why = told_by_reason(
                [
                    *(
                        (self.named(keys), figures["tau"].reason or "")
                        for keys, figures in self.criteria("panel")
                        if self.verdict(keys, figures) == UNDEFINED
                    ),
                    *preferences.undefined_reasons(self.estimates),
                ]
            )
            yield f"No agreement on {listed(found['undefined'], 3)}: {why}."
        beyond = self.of("panel", "beyond_source", **self.main) if self.main else None
        if beyond is not None and beyond.verdict is not None:
            yield (
                "Source confound: the panel tells people from models, and within either source its "
                "agreement is not shown to be above chance."
            )
        above = [
            self.named(k)
            for k, f in self.criteria("panel")
            if "above_ceiling" in f and f["above_ceiling"].verdict
        ]
        if above:
            yield f"Tau above its ceiling on {listed(above)}: ties, pooling or shared errors."
        for verdict in (NOT_ABOVE_CHANCE, SOURCE_ONLY):
            if names := self.judges_called(verdict):
                is_all = 1 < len(names) == self.n("matched", "n_judges")
                told = f"all {units(len(names), 'judge')}" if is_all else listed(names, 3)
                yield f"{verdict.capitalize()}: {told}."
        if named := self._raters_called():
            yield f"Raters who are {named}."
        if self.has_few_prompts and "few" not in found and not self.has_labels_only:
            yield "Few prompts: some intervals are too short."

    def _alike_raters(self) -> str:
        """Suggests that ids of raters are places; nothing where raters differ."""
        shift = self.of("people", "largest_shift", criterion=EVERY)
        if shift is None or shift.verdict != ALIKE:
            return ""
        return (
            f"No rater is stricter than another over {units(shift.n, 'response')}: these may be "
            "places (first, second rating), not persons. If so, say so (--unnamed-raters)."
        )

    def judges_called(self, verdict: str) -> list[str]:
        """The judges with this verdict."""
        measure = "within" if verdict == SOURCE_ONLY else "accuracy"
        rows = select(self.estimates, "judges", factor="judge", measure=measure, verdict=verdict)
        if not self.main:
            rows = select(self.estimates, "preferences of judges", measure=measure, verdict=verdict)
        return [str(name) for name in rows["group"]]

    def _raters_called(self) -> str:
        """Who is harsh, lenient or constant, and on what, unless it is on every criterion."""
        rows = select(self.estimates, "raters").dropna(subset=["rater"])
        n_criteria = rows["criterion"].nunique()
        found = []
        for verdict in ("harsh", "lenient", "constant"):
            names = []
            for rater, mine in rows[rows["verdict"] == verdict].groupby("rater", sort=False):
                on = [words(name) for name in mine["criterion"].unique()]
                where = listed_all(on) if len(on) <= 2 else f"{len(on)} of {n_criteria} criteria"
                names.append(f"{rater} ({where})" if len(on) < n_criteria else str(rater))
            if names:
                found.append(f"{verdict}: {listed(names, 3)}")
        return "; ".join(found)

    # People with people

    def people_headline(self) -> Iterator[str]:
        """Says on what people agree better than chance."""
        told: dict[str, list[str]] = {"shared": [], "apart": [], "against": [], "unknown": []}
        shared, apart, against, unknown = told.values()
        for keys, figures in self.criteria("people"):
            if keys["criterion"] == EVERY or "n_raters" not in figures:
                continue
            agreed = figures.get("icc_one_way", figures["tau"])
            if agreed.verdict == BELOW_CHANCE:
                against.append(self.named(keys))
                continue
            tau = first_defined(
                [agreed, figures.get("alpha_interval"), figures.get("alpha_ordinal")]
            )
            known = tau is not None and tau.has_interval
            into = unknown if tau is None or not known else shared if tau.low > 0 else apart
            into.append(self.named(keys))
        for verdict, name in preferences.people_verdicts(self.estimates):
            told[verdict].append(name)
        for keys, figures in self.groups("label people", "criterion"):
            alpha, verdict = figures["alpha"], "unknown"
            if alpha.verdict == BELOW_CHANCE:
                verdict = "against"
            elif alpha.is_defined and (alpha.has_interval or alpha.n >= MIN_UNITS):
                low = alpha.low if alpha.has_interval else alpha.value
                verdict = "shared" if low > 0 else "apart"
            told[verdict].append(self.label_named(keys))
        if against:
            yield (
                f"People agree less than chance would have them on {listed(against)}: "
                f"{BELOW_CHANCE_CAUSES}."
            )
        if shared:
            n = len(against) + len(shared) + len(apart) + len(unknown)
            on = _which(shared, n)
            yield f"Among {self.these_raters}, agreement is better than chance on {on}."
        if apart:
            yield f"Raters are not shown to agree better than chance on {listed(apart)}."
        if unknown:
            yield f"Cannot tell on {listed(unknown)}: no figure of agreement has an interval there."
        if not (shared or apart or against or unknown):
            yield "Nothing can be said: nobody's judgments count."

    def _people_on_all(self) -> Iterator[tuple[str, str]]:
        """How far people agree, in a line: on one criterion, or from the lowest to the highest."""
        pairs = []
        for _, figures in self.criteria("people"):
            alpha = first_defined([figures.get("alpha_interval"), figures.get("alpha_ordinal")])
            worth = figures.get("mean_worth")
            if alpha is not None and worth is not None and worth.is_defined:
                pairs.append((alpha.value, worth.value))
        if len(pairs) < 2:
            for keys, _ in self.criteria("people")[:1]:
                yield from self._people(keys)
            return
        alphas, worths = (
            f"{number(min(values))} to {number(max(values))}" for values in zip(*pairs, strict=True)
        )
        reliability = f"reliability of the mean of a response's raters {worths}"
        yield "people", f"by criterion, alpha {alphas}; {reliability}"

    def people_trust(self) -> Iterator[tuple[str, str]]:
        """Design, agreement and raters to look at."""
        yield from self._design()
        yield from self._people_on_all()
        yield from preferences.trust(self.estimates)
        labels = self.groups("label people", "criterion")
        for keys, _ in labels[:1]:
            alone = len(labels) == 1 and self.has_labels_only
            name = "people" if self.has_labels_only else "labels"
            yield from self._label_people(
                keys, name, "" if alone else f" on {self.label_named(keys)}"
            )
        if named := self._raters_called():
            yield "raters", named
        if told := self._alike_raters():
            yield "raters", told
        if told := scale_use(self.estimates):
            yield "scale use", told


def _by_verdict(verdicts: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Criteria in words by the verdict on them."""
    criteria: dict[str, list[str]] = {}
    for verdict, name in verdicts:
        criteria.setdefault(verdict, []).append(name)
    return criteria


def first_defined(found: Sequence[Estimate | None]) -> Estimate | None:
    """The first that has a value."""
    return next((one for one in found if one is not None and one.is_defined), None)


def demonstration(stand_ins: Sequence[str]) -> str:
    """Returns the sentence that heads whatever an embedded stand-in had a part in."""
    return (
        f"An embedded stand-in took part ({listed(stand_ins, 4)}), which is no language model. "
        "These numbers show how the tool works; they are no findings."
    )
