"""What a calibration, or an agreement, says first: the answer, and whether it can be trusted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..aggregation.estimate import Estimate
from ..formats import count, estimate, listed, listed_all, number, said, units, words
from ..records.estimates import estimate_at, estimates_by, select
from .corrections import ADOPTED
from .judges import SOURCE_ONLY, USELESS
from .people import EVERY

if TYPE_CHECKING:
    import pandas as pd

FEW_PROMPTS: Final = 20
"""Below so many prompts some intervals are too short, and judges are named by mistake too often,
not to say so."""

_ON: Final = {
    "better": "orders responses better than one more person would, on {}",
    "not told apart": "is not told apart from one more person on {}",
    "agrees": "agrees with people on {}",
    "worse": "is worse than one more person on {}",
    "none": "is not shown to agree with people on {}",
}

Keys = Mapping[Any, Any]


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
    def has_few_prompts(self) -> bool:
        """Whether few prompts were both rated and scored."""
        return 0 < self.n("matched", "n_prompts_both") < FEW_PROMPTS

    # Panel with people

    def headline(self) -> Iterator[str]:
        """Says on what the panel may stand in for one more person, and on what it may not."""
        found: dict[str, list[str]] = {}
        for keys, figures in self.criteria("panel"):
            found.setdefault(self._verdict(keys, figures), []).append(self.named(keys))
        if not found:
            yield "Nothing can be compared: people and panel share no criterion."
            return
        if parts := [text.format(listed(found[k])) for k, text in _ON.items() if k in found]:
            yield f"The panel {'; '.join(parts)}."
        if "few" in found:
            yield f"Cannot tell on {listed(found['few'])}: too few prompts for an interval."
        if "noise" in found:
            yield (
                f"Cannot tell on {listed(found['noise'])}: people are not shown to agree better "
                "than chance there, and nothing can be calibrated against it."
            )
        beyond = self.of("panel", "beyond_source", **self.main)
        if beyond is not None and beyond.verdict is not None:
            yield (
                "Source confound: the panel tells people from models, and within either source its "
                "agreement is not shown to be above chance."
            )

    def _verdict(self, keys: Keys, figures: Mapping[str, Estimate]) -> str:
        tau, ceiling = figures["tau"], figures.get("ceiling")
        if not tau.has_interval and tau.n < 6:
            return "few"
        if ceiling is None or not ceiling.is_defined or (ceiling.has_interval and ceiling.low <= 0):
            return "noise"
        if not (tau.low if tau.has_interval else tau.value) > 0:
            return "none"
        one = self.of("one person", "accuracy_difference", rater=None, **keys)
        return (one.verdict if one is not None else None) or "agrees"

    def trust(self) -> Iterator[tuple[str, str]]:
        """Whether it can be trusted: design, coverage, people, panel, judges, corrections."""
        yield from self._design()
        yield from self._people(self.main)
        yield from self._panel()
        worth = self.of("size", "worth")
        if worth is not None and worth.is_defined:
            size = self.n("matched", "n_judges") * (self.n("matched", "n_repeats") or 1)
            many = f"{units(size, 'judgment')} a response"
            yield "judges", f"{many} are worth about {number(worth.value, 1)} independent ones"
        yield from self._corrected()
        test = self.of("alt-test", "winning_rate", detail="by rank", baseline=None)
        if test is not None and test.is_defined:
            power = self.of("alt-test", "power", detail="by rank", baseline=None)
            strength = ""
            if power is not None and power.is_defined:
                strength = (
                    "; a judge as good as a rater would pass with probability "
                    f"{number(power.value)}"
                )
            yield "alt-test", f"{test.verdict}{strength}"
        if cautions := list(self._cautions()):
            yield "cautions", " ".join(cautions)

    def _design(self) -> Iterator[tuple[str, str]]:
        """Who rated what, and how much of it."""
        one: Keys = self.main or {"criterion": None, "detail": None}
        if not self.main or self.of("people", "n_raters", **one) is None:
            first = self.criteria("people")
            one = first[0][0] if first else {}
        n = {name: self.n("matched", f"n_{name}s") for name in ("rater", "prompt", "response")}
        n_ratings = self.n("people", "n_ratings", **one) if one else 0
        if n["response"] and n_ratings == n["rater"] * n["response"]:
            told = "every rater rated every response"
        elif n["response"]:
            told = f"{number(n_ratings / n['response'], 1)} ratings a response and criterion"
        else:
            told = "no ratings"
        alone = "; one response a prompt" if n["response"] == n["prompt"] else ""
        yield "design", f"{', '.join(units(n[name], name) for name in n)}: {told}{alone}"
        both = self.of("matched", "n_both")
        if both is not None:
            judged = {
                str(k["group"]): int(f["n_judgments"].value)
                for k, f in self.groups("matched", "group", factor="status")
            }
            judgments = units(sum(judged.values()), "judgment")
            responses = units(both.n_planned or 0, "response")
            scored = f"{count(judged.get('scored', 0))} of {judgments} scored"
            yield "coverage", f"{scored}; {count(both.n)} of {responses} rated and scored"

    def _people(self, keys: Keys) -> Iterator[tuple[str, str]]:
        """How far people agree on one criterion, in a line."""
        tau = self.of("people", "tau", **keys) if keys else None
        if tau is None:
            return
        parts = [f"tau {estimate(tau)} between two of them"]
        alphas = [self.of("people", f"alpha_{name}", **keys) for name in ("interval", "ordinal")]
        if alpha := first_defined(alphas):
            parts.append(f"alpha {number(alpha.value)}")
        mean, m = self.of("people", "icc_mean", **keys), self.of("people", "mean_raters", **keys)
        if mean is not None and mean.is_defined and m is not None:
            parts.append(f"the mean of {m.value:.3g} is worth {number(mean.value)}")
        yield "people", "; ".join(parts) if tau.is_defined else f"undefined: {said(tau.reason)}"

    def _panel(self) -> Iterator[tuple[str, str]]:
        tau = self.of("panel", "tau", **self.main) if self.main else None
        if tau is None:
            return
        told = f"tau {estimate(tau)}" if tau.is_defined else f"tau undefined: {said(tau.reason)}"
        ceiling = self.of("panel", "ceiling", **self.main)
        if ceiling is not None and ceiling.is_defined:
            told += f", ceiling {number(ceiling.value)}"
        right, of_one, difference = (
            self.of("one person", f"accuracy_{name}", rater=None, **self.main)
            for name in ("of_panel", "of_one", "difference")
        )
        if right is not None and of_one is not None and difference is not None:
            told += (
                f"; pairs as people {number(right.value)}, one more person "
                f"{number(of_one.value)}: {estimate(difference, is_signed=True)}"
            )
        yield "panel", told

    def _corrected(self) -> Iterator[tuple[str, str]]:
        earned = [
            f"{name} {words(way)}"
            for name, table, measure, plain in (
                ("weights", "weights", "tau", "equal"), ("map", "maps", "error", "as is"),
            )
            for way in self.adopted(table, measure)
            if way != plain
        ]  # fmt: skip
        if earned:
            yield "corrected", f"{', '.join(earned)}: earned out of fold; areopagus apply uses it"
        elif self.groups("maps", "group"):
            yield "corrected", "no map and no weights are earned: keep the scores as they are"

    def adopted(self, table: str, measure: str) -> list[str]:
        """The ways of a table of corrections that were earned."""
        return [
            str(keys["group"])
            for keys, found in self.groups(table, "group")
            if measure in found and found[measure].verdict == ADOPTED
        ]

    def _cautions(self) -> Iterator[str]:
        """What a reader must know before the numbers."""
        if above := [self.named(k) for k, found in self.criteria("panel") if found["tau"].verdict]:
            yield f"Tau above its ceiling on {listed(above)}: chance, ties or shared errors."
        for verdict in (USELESS, SOURCE_ONLY):
            if names := self.judges_called(verdict):
                yield f"{verdict.capitalize()}: {listed(names, 3)}."
        if named := self._raters_called():
            yield f"Raters: {named}."
        if self.has_few_prompts:
            yield "Few prompts: some intervals are too short, and good judges may be named."

    def judges_called(self, verdict: str) -> list[str]:
        """The judges with this verdict."""
        measure = "within" if verdict == SOURCE_ONLY else "accuracy"
        rows = select(self.estimates, "judges", factor="judge", measure=measure, verdict=verdict)
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
        shared: list[str] = []
        apart: list[str] = []
        unknown: list[str] = []
        for keys, figures in self.criteria("people"):
            if keys["criterion"] == EVERY or "n_raters" not in figures:
                continue
            tau = first_defined([figures.get("tau"), figures.get("alpha_ordinal")])
            known = tau is not None and tau.has_interval
            into = unknown if tau is None or not known else shared if tau.low > 0 else apart
            into.append(self.named(keys))
        if shared:
            yield f"People agree better than chance on {listed(shared)}."
        if apart:
            yield f"They are not shown to agree better than chance on {listed(apart)}."
        if unknown:
            yield f"Cannot tell on {listed(unknown)}: no figure of agreement has an interval there."
        if not (shared or apart or unknown):
            yield "Nothing can be said: nobody's ratings count."

    def people_trust(self) -> Iterator[tuple[str, str]]:
        """Design, agreement and raters to look at."""
        yield from self._design()
        for keys, _ in self.criteria("people")[:1]:
            yield from self._people(keys)
        if named := self._raters_called():
            yield "raters", named


def first_defined(found: Sequence[Estimate | None]) -> Estimate | None:
    """The first that has a value."""
    return next((one for one in found if one is not None and one.is_defined), None)


def demonstration(stand_ins: Sequence[str]) -> str:
    """Returns the sentence that heads whatever an embedded stand-in had a part in."""
    return (
        f"An embedded stand-in took part ({listed(stand_ins, 4)}), which is no language model. "
        "These numbers show how the tool works; they are no findings."
    )
