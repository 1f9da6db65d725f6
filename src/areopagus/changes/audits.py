"""Two runs of one audit: its figures before and after on the answers that both have.

Askings are paired: a prompt with itself, and where it was asked several times the first asking with
the first, the second with the second. An asking counts in a figure where both runs have a value of
that figure for it: a model that only refuses more has not changed in what it chooses. How often
there is a value at all is compared by itself (`replies`), over the askings that both got a reply
to, and in shares of all answers that were read, such as how often a model chooses.

Figures that the definition names are paired unit by unit; those of the audit's class are computed
anew without each of up to `BLOCKS` blocks of units, whatever they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ..aggregation.clustered import cluster_share
from ..aggregation.estimate import Estimate
from ..aggregation.intervals import MIN_UNITS
from ..aggregation.paired_change import Term, of_separate_units, pseudo_values, ratios
from ..auditing.run import AuditRun, estimated_by_definition
from ..audits.answers_table import ANSWERS_FILE, HeldAnswers
from ..audits.by_unit import Place, by_unit, place_of
from ..audits.contrasts import CROSS, values_of
from ..audits.definition import Contrast, Definition, Outcome, TableView
from ..audits.estimate import columns_of, merged_units
from ..audits.headline import AuditView
from ..errors import InputError, InputFault
from ..formats import listed_all, words
from ..records.estimates import KEYS, estimates_of
from .figures import ANSWER, Figure, Paired, decided_changes, models_paired

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Values = dict[Place, tuple[float, int]]
"""Value and n of figures."""

Untested = dict[tuple[str, str], str]
"""(heading, what figures are called) to why no change of theirs is tested."""

BLOCKS: Final = 30
"""Blocks of units without which the figures of an audit's class are computed."""
_OF_REPLIES: Final = frozenset(
    ("refuse_rate", "refused", "unreadable", "answered", "unclassified", "read")
)
"""Measures of what became of askings: compared by `replies`, over all askings."""
_REPLIES: Final = {
    "classified": "answers with a value", "refused": "refusals", "unread": "answers unread",
}  # fmt: skip
_UNREAD: Final = ("unclassified", "unreadable", "empty")
_NO_REPLY: Final = ("failed", "not_asked")
_LISTED: Final = "a list by rank in each run: what stands high in one falls in the next by chance"
_OF_SIDES: Final = "a share of the sides taken, which are other answers in each run"
_OWN_CODE: Final = "made by the audit's own code, which is not run to read results"
_SQUARE: Final = "_square"
"""Ends the name of a mean over units of which another figure is the root: a change of that one is
tested on it, since a root cannot fall below 0."""
_LEAN: Final = "_lean"
_MIRROR: Final = "one less a figure that is compared: its change is that one's, the other way"
_ROUNDING: Final = 1e-9
_WILSON: Final = "clustered wilson"
"""In the method of a share, whose ends are 0 and 1."""
_SAYS_LITTLE: Final = "by"
"""Title of a column that only the heads beside it make sense of."""
_TITLES: Final = {
    ("gaps", "difference"): "hidden less open, squared points",
}
"""What figures are called that no table shows, or under a head that needs its caption."""
_NOT_FIGURES: Final = ("_answers", "_least", "_most")
_TESTS: Final = (
    "counts", "models", "paper", "pairs", "judges", "gold", "rule", "average", "readers",
    "concepts",
)  # fmt: skip
"""Tables of counts, of tests, and of what is not the model's."""
_AMONG_SIDES: Final = (("published", "stereotyped"),)
"""Figures of an audit's class over the answers that take a side, which is itself a value."""
_READ_AS: Final = {"silverspoon-judgement": {"answer": "label"}}
"""Audit to its columns of which the class makes figures of another one: an answer without a label
is in none."""


def paired_audits(before: AuditRun, after: AuditRun, margin: float | None = None) -> Paired:
    """The figures of two runs of one audit.

    Models are paired by name, or the only ones with each other.

    Raises:
        InputError: two audits, or no model or no prompt in common.
    """
    runs = before, after
    known = after.known_audit
    # As this version has it: what a change is tested on may not be said in an earlier one's.
    definition = after.definition if known is None else known[0].defined(known[1])
    if definition.name != before.definition.name:
        fault = f"is the audit {definition.name!r}, {before.path} is {before.definition.name!r}"
        raise InputError([InputFault(str(after.path), fault)])
    pairs = models_paired([(str(run.path), run.targets) for run in runs])
    figures: list[Figure] = []
    untested: Untested = {}
    mirrored: Untested = {}
    trust: list[tuple[str, str]] = []
    for names in pairs:
        pair = Pair.read_from(runs, definition, names)
        pair.whose = f", {names[1]}" if len(pairs) > 1 else ""
        figures += pair.figures()
        untested |= pair.untested
        mirrored |= pair.mirrored
        trust.append(pair.trust())
    notices = [f"Compared are {name}, before, and {other}, after."
               for name, other in pairs if name != other]  # fmt: skip
    if len(pairs) < max(len(run.targets) for run in runs):
        notices.append("Models of one run alone are left out.")
    title = f"{definition.title}: before and after"
    return Paired(
        title,
        decided_changes(figures, margin=margin),
        notices,
        trust,
        [*_told(untested), *_told(mirrored)],
    )


@dataclass(eq=False)
class Pair:
    """One model before and after.

    Attributes:
        definition: of the audit; what a single run is tested for is not wanted here.
        known: the audit and its options, where it came with the package.
        view: of the later run, for what figures are called.
        replied, read: the answers before and after, row by row the same askings: those that got a
            reply in both, and those that were read in both, see `_matched`.
        matched: the definition whose figures are read from columns of `read` alone.
        n_planned: units planned in either run.
        n_items: prompts in either run, the same in both, with a reply in both, read in both.
        whose: what stands behind the name of a figure, where there are several models.
        made: figures that have a value in either run as it is, over all that it asked.
    """

    definition: Definition
    known: tuple[Any, Any] | None
    view: AuditView
    replied: Sequence[HeldAnswers]
    read: Sequence[HeldAnswers]
    n_planned: int
    n_items: tuple[int, int, int, int] = (0, 0, 0, 0)
    whose: str = ""
    made: frozenset[Place] = frozenset()
    untested: Untested = field(default_factory=dict)
    mirrored: Untested = field(default_factory=dict)
    matched: Definition = field(init=False)

    def __post_init__(self) -> None:
        if self.known is not None:
            audit, options = self.known
            given = {"resamples": 0} if hasattr(options, "resamples") else {}
            self.known = audit, options.model_copy(update=given)
        self.matched, self.read = _matched(self.definition, self.read)

    @classmethod
    def read_from(
        cls, runs: Sequence[AuditRun], definition: Definition, names: tuple[str, str]
    ) -> Pair:
        """The model of the first name before, that of the second after."""
        given = [
            HeldAnswers.read(run.path / ANSWERS_FILE, name, names[1])
            for run, name in zip(runs, names, strict=True)
        ]
        units = [set(one.frame([definition.unit])[definition.unit]) for one in given]
        texts = [_texts(one) for one in given]
        common = {item for item, text in texts[0].items() if texts[1].get(item) == text}
        if not common:
            fault = f"no prompt is the same, letter for letter, as in {runs[0].path}"
            raise InputError([InputFault(str(runs[1].path), fault)])
        asked = _same_askings(given, common)
        replied = _where(asked, lambda status: ~status.isin(_NO_REPLY))
        read = _where(replied, lambda status: status == "classified")
        n_replied, n_read = (
            int(one[0].frame(["item_id"])["item_id"].nunique()) for one in (replied, read)
        )
        return cls(
            definition, runs[1].known_audit,
            AuditView(definition, runs[1].record, runs[1].estimates), replied, read,
            n_planned=len(units[0] | units[1]),
            n_items=(len(texts[0].keys() | texts[1].keys()), len(common), n_replied, n_read),
            made=frozenset(
                place for run, name in zip(runs, names, strict=True)
                for place, one in _figures_of(run.estimates, name).items() if one.is_defined
            ),
        )  # fmt: skip

    @property
    def name(self) -> str:
        """The model's, after."""
        return self.read[1].targets[0]

    @property
    def _on_one(self) -> str:
        return f"rests on one {self.definition.unit_word}, or is undefined without one"

    def trust(self) -> tuple[str, str]:
        """How many prompts are paired, and what became of the others."""
        planned, common, replied, read = self.n_items
        told = [f"{read:,} of {planned:,} prompts have an answer with a value in both runs"]
        if common < planned:
            told.append(f"{planned - common:,} are in one run alone, or worded otherwise")
        if replied < common:
            told.append(f"{common - replied:,} got no reply in one")
        if read < replied:
            told.append(f"{replied - read:,} were refused or not read in one")
        told.append("a figure rests on those that have a value of it in both")
        return f"coverage{self.whose}", "; ".join(told)

    def figures(self) -> list[Figure]:
        """Those of the answer first, those of replies last."""
        if not self.read[0].n_rows:
            return list(self._replies())
        codes, names = _codes(self.read, self.definition.unit)
        sides = [self._estimated(one) for one in self.read]
        columns = columns_of(self.matched)
        terms = [
            by_unit(self.matched, one.frame(columns).assign(_unit=names[code]), list(names))
            for one, code in zip(self.read, codes, strict=True)
        ]
        blocks = self._blocks(codes, len(names))
        view = _Named(self.view, self.definition)
        found: list[Figure] = []
        for place in dict.fromkeys(place for side in sides for place in side):
            before, after = (side.get(place) for side in sides)
            shown = view.shown(place)
            if shown is None:
                continue
            shown |= {n: f"{shown[n]}{self.whose}" for n in ("label", "short") if n in shown}
            if place[:2] in _AMONG_SIDES:
                self.untested[view.named(place, shown)] = _OF_SIDES
                continue
            if before is None or after is None or "item" in dict(place[2]):
                self._leave_out(place, before or after, view.named(place, shown))
                continue
            if not (place in terms[0] or before.has_interval or after.has_interval):
                self._leave_out(place, after, view.named(place, shown))
                continue
            if not (before.is_defined or after.is_defined or place in self.made):
                continue  # the options of these runs make no such figure
            if _WILSON in before.method and _WILSON in after.method:
                shown["bounds"] = shown.get("bounds") or (0.0, 1.0)
            table, measure, keys = place
            column, n, more = self._column(place, sides, terms, blocks)
            of = self.definition.unit_word
            if not n and not more:
                more = {**more, "reason": f"no {of} has a value of it in both runs"}
            found.append(
                Figure(
                    table, measure, {"respondent": self.name, **dict(keys)},
                    before=before, after=after, by_unit=column, n=n, n_planned=self.n_planned,
                    unit=of, **shown, **more,
                )
            )  # fmt: skip
        if self.known is None:
            own = {("", one.section): _OWN_CODE for one in self.definition.table_views}
            self.untested |= own
        found.sort(key=lambda one: one.family != ANSWER)
        mirrors: list[Figure] = []
        kept = list(_once(found, mirrors))
        for one in mirrors:
            place = place_of(one.table, one.measure, **one.keys)
            self.mirrored[view.named(place, one.shown())] = _MIRROR
        return [*kept, *self._replies()]

    def _column(
        self,
        place: Place,
        sides: Sequence[Mapping[Place, Estimate]],
        terms: Sequence[Mapping[Place, Sequence[Term]]],
        blocks: Sequence[tuple[Values, Values]],
    ) -> tuple[Floats | None, int, dict[str, Any]]:
        """The change by unit, on how many units it rests, and how it was found."""
        if place in terms[0] and place in terms[1]:
            return self._of_ratios(terms[0][place], terms[1][place])
        if not blocks:
            reason = _OWN_CODE if self.known is None else self._on_one
            return None, 0, {"reason": reason}
        square = (place[0], f"{place[1]}{_SQUARE}", place[2])
        is_root = all(square in side for side in sides)
        tested = square if is_root else place
        before, after = (side[tested] for side in sides)
        column, correlation = _of_blocks(tested, blocks, before, after)
        more = {"is_rising_of": words(square[1]), "correlation": correlation} if is_root else {}
        if np.isnan(column).all():
            more |= {"reason": self._on_one}
            return None, min(before.n, after.n), more
        return column, min(before.n, after.n), more

    def _of_ratios(
        self, before: Sequence[Term], after: Sequence[Term]
    ) -> tuple[Floats | None, int, dict[str, Any]]:
        """As `_column`, of a figure that the definition names."""
        groups = of_separate_units(before, after)
        if groups is None:
            return *_of_terms(before, after), {}
        column, is_first = groups
        known = ~np.isnan(column)
        sides = int((known & is_first).sum()), int((known & ~is_first).sum())
        if min(sides) < MIN_UNITS:
            of = f"{self.definition.unit_word}s in either group"
            reason = (
                f"an interval needs at least {MIN_UNITS} {of}, there are {sides[0]} and {sides[1]}"
            )
            return None, sum(sides), {"reason": reason}
        return column, sum(sides), {"first": is_first}

    def _estimated(self, held: HeldAnswers) -> dict[Place, Estimate]:
        """Every figure of one run, by its place."""
        import pandas as pd

        frames = [estimated_by_definition(self.matched, held).frame()]
        own = self._own(held)
        if own is not None:
            frames.append(own)
        return _figures_of(pd.concat(frames, ignore_index=True), self.name)

    def _own(self, held: HeldAnswers) -> pd.DataFrame | None:
        """What the audit's class estimates; None where it did not come with the package."""
        if self.known is None:
            return None
        audit, options = self.known
        found = audit.own_estimates(held, options)
        return None if found is None else found.frame()

    def _blocks(self, codes: Sequence[Codes], n: int) -> list[tuple[Values, Values]]:
        """Before and after, what the class estimates without each block of units."""
        if self.known is None or not self.definition.tables or n < 2:
            return []
        size = min(n, BLOCKS)
        found = []
        for block in range(size):
            sides: list[Values] = []
            for held, code in zip(self.read, codes, strict=True):
                own = self._own(held.only(code % size != block))
                known = {} if own is None else _figures_of(own, self.name)
                sides.append({place: (one.value, one.n) for place, one in known.items()})
            found.append((sides[0], sides[1]))
        return found

    def _leave_out(self, place: Place, one: Estimate | None, name: tuple[str, str]) -> None:
        """Says of what no change is tested, but for counts, test statistics and what has no name.

        Figures without a name are in no table of a report.
        """
        is_listed = "item" in dict(place[2])
        if one is None or one.method == "count" or not (one.n and any(name)):
            return
        if is_listed or math.isnan(one.p):
            reason = _LISTED if is_listed else one.reason or "it has no interval in a run"
            self.untested[name] = reason

    def _replies(self) -> Iterator[Figure]:
        """What became of what was asked, over the askings that both runs got a reply to."""
        codes, names = _codes(self.replied, self.definition.unit)
        status = [one.frame(["status"])["status"] for one in self.replied]
        for measure, title in _REPLIES.items():
            of = _UNREAD if measure == "unread" else (measure,)
            terms: list[list[Term]] = []
            shares = []
            for code, mine in zip(codes, status, strict=True):
                hits = mine.isin(of).to_numpy(dtype=np.float64)
                sums = np.bincount(code, weights=hits, minlength=len(names)).astype(np.float64)
                sizes = np.bincount(code, minlength=len(names)).astype(np.float64)
                terms.append([(sums, sizes, 1.0)])
                share = cluster_share(sums, sizes, unit=self.definition.unit_word)
                shares.append(share.of("share of answers"))
            if (
                all(one.value in (0.0, 1.0) for one in shares)
                and shares[0].value == shares[1].value
            ):
                continue
            column, n = _of_terms(*terms)
            yield Figure(
                "replies", measure, {"respondent": self.name}, label=f"{title}{self.whose}",
                before=shares[0], after=shares[1], by_unit=column, n=n, n_planned=self.n_planned,
                unit=self.definition.unit_word, family="replies",
                section="What became of the answers",
                bounds=(0.0, 1.0), digits=3,
            )  # fmt: skip


def _told(untested: Untested) -> Iterator[tuple[str, str]]:
    """Names and reason: those of one reason under one heading, and such headings, together."""
    together: dict[tuple[str, str], list[str]] = {}
    for (heading, name), reason in untested.items():
        together.setdefault((heading, reason), []).append(name)
    headings: dict[tuple[str, str], list[str]] = {}
    for (heading, reason), names in together.items():
        headings.setdefault(("; ".join(names), reason), []).append(heading)
    for (told, reason), under in headings.items():
        where = listed_all([f"“{heading}”" for heading in under if heading])
        yield f"{told}{', in ' if where else ''}{where}", reason


def _texts(held: HeldAnswers) -> dict[str, str]:
    """Item to its prompt."""
    rows = held.frame(["item_id", "prompt_text"])
    return dict(zip(rows["item_id"], rows["prompt_text"], strict=True))


def _same_askings(held: Sequence[HeldAnswers], items: Set[str]) -> list[HeldAnswers]:
    """The askings of these items that both have, in the order of the second."""
    before, after = (
        {
            key: row
            for row, key in enumerate(zip(one["item_id"], one["repeat"], strict=True))
            if key[0] in items
        }
        for one in (side.frame(["item_id", "repeat"]) for side in held)
    )
    both = [key for key in after if key in before]
    return [
        HeldAnswers(
            side.table.take(np.array([rows[key] for key in both], dtype=np.int64)), side.targets[0]
        )
        for side, rows in zip(held, (before, after), strict=True)
    ]


def _where(
    held: Sequence[HeldAnswers], is_kept: Callable[[pd.Series], pd.Series]
) -> list[HeldAnswers]:
    """The same askings, those whose status will do in both."""
    before, after = (is_kept(one.frame(["status"])["status"]).to_numpy() for one in held)
    return [one.only(before & after) for one in held]


def _matched(
    definition: Definition, held: Sequence[HeldAnswers]
) -> tuple[Definition, list[HeldAnswers]]:
    """The definition and the answers, with a value of a figure where both have one.

    Every outcome, contrast, share and change reads a column of its own, which is empty where either
    run has no value of it. The audit's own columns of values, which its class reads, are empty
    where they are in either run.

    Args:
        definition: of the audit.
        held: before and after, row by row the same askings.
    """
    import pyarrow as pa

    tables = [one.table for one in held]
    frames = [one.frame(columns_of(definition)) for one in held]

    def stored(name: str) -> list[Any]:
        return [
            one.table[name] if name in one.table.column_names else pa.nulls(one.n_rows)
            for one in held
        ]

    def add(name: str, values: Sequence[Any], known: Sequence[Any] = ()) -> str:
        """Puts the values into a column, those that both have."""
        before, after = (np.asarray(one.is_valid(), dtype=bool) for one in known or values)
        # Taking no row leaves a cell empty.
        rows = pa.array(np.arange(before.size), mask=~(before & after))
        for k, column in enumerate(values):
            kept = column.take(rows)
            place = tables[k].schema.get_field_index(name)
            tables[k] = (
                tables[k].append_column(name, kept) if place < 0
                else tables[k].set_column(place, name, kept)
            )  # fmt: skip
        return name

    numbers = count()

    def own() -> str:
        return f"matched_{next(numbers)}"

    def read(outcome: Outcome) -> Outcome:
        values = [pa.array(values_of(outcome, rows), from_pandas=True) for rows in frames]
        of = {"of": add(own(), values), "values": (), "any_value": False, "among": ()}
        return outcome.model_copy(update=of)

    update: dict[str, Any] = {
        "outcomes": {
            name: one if one.of is None else read(one) for name, one in definition.outcomes.items()
        }
    }
    for part in ("shares", "changes", "contrasts"):
        update[part] = {
            name: one if one.of in definition.outcomes and part == "contrasts"
            else one.model_copy(update={"of": add(own(), stored(one.of))})
            for name, one in getattr(definition, part).items()
        }  # fmt: skip
    read_as = _READ_AS.get(definition.name, {})
    for name in definition.value_columns:
        if all(name in table.column_names for table in tables):
            add(name, stored(name), stored(read_as.get(name, name)))
    return definition.model_copy(update=update), [
        HeldAnswers(table, one.targets[0]) for table, one in zip(tables, held, strict=True)
    ]


def _codes(held: Sequence[HeldAnswers], unit: str) -> tuple[list[Codes], npt.NDArray[np.object_]]:
    """The unit of every row of both, and the units' names; those that share a prompt are one."""
    import pandas as pd

    frames = [one.frame(["prompt_text", unit]) for one in held]
    whole = pd.concat(frames, ignore_index=True)
    whole["prompt"] = pd.factorize(whole["prompt_text"])[0]
    codes, names = pd.factorize(merged_units(whole, unit))
    at = len(frames[0])
    return [codes[:at], codes[at:]], np.asarray(names, dtype=object)


def _figures_of(frame: pd.DataFrame, respondent: str) -> dict[Place, Estimate]:
    """The figures of one respondent that are of no pair."""
    mine = frame[frame["baseline"].isna()]
    of = mine["respondent"]
    # Parts, and differences within values of the unit, are of all respondents: here, of one.
    of_all = mine["table"].eq("parts") | mine["table"].str.contains("_by_")
    mine = mine[(of == respondent) | (of.isna() & of_all)]
    keys = [name for name in KEYS if name not in ("respondent", "baseline")]
    columns = mine[["table", "measure", *keys]].to_numpy(dtype=object).tolist()
    found: dict[Place, Estimate] = {}
    for (table, measure, *values), one in zip(columns, estimates_of(mine), strict=True):
        if measure not in _OF_REPLIES and not measure.endswith(_NOT_FIGURES):
            given = {n: v for n, v in zip(keys, values, strict=True) if isinstance(v, str)}
            found.setdefault(place_of(table, measure, **given), one)
    return found


def _of_terms(before: Sequence[Term], after: Sequence[Term]) -> tuple[Floats, int]:
    """The change by unit of a figure made of ratios, and its units."""
    (b, b_without, b_rests), (a, a_without, a_rests) = ratios(before), ratios(after)
    rests = b_rests | a_rests
    return pseudo_values(a - b, a_without - b_without, rests), int(rests.sum())


def _of_blocks(
    place: Place, blocks: Sequence[tuple[Values, Values]], before: Estimate, after: Estimate
) -> tuple[Floats, float]:
    """The change by block, and the correlation of what both runs are without each."""
    none = (math.nan, 0)
    given = np.array([[side.get(place, none) for side in both] for both in blocks], dtype=float)
    without, n = given[:, :, 0], given[:, :, 1]
    rests = (n[:, 0] < before.n) | (n[:, 1] < after.n)
    column = pseudo_values(after.value - before.value, without[:, 1] - without[:, 0], rests)
    spread = without[rests].std(axis=0)
    correlation = math.nan
    if rests.sum() > 2 and (spread > 1e-12).all():
        correlation = float(np.corrcoef(without[rests].T)[0, 1])
    return column, correlation


def _once(figures: Sequence[Figure], mirrors: list[Figure]) -> Iterator[Figure]:
    """Each figure once: the same stands in several tables of an audit, with the same limits.

    Of the two levels of a share, of which each is one less the other, one is tested.

    Args:
        figures: those of the answer first; these are all kept.
        mirrors: takes the second of two such levels.
    """
    seen: dict[tuple[float, ...], str] = {}
    columns: dict[tuple[float, ...], list[Figure]] = {}
    for one in figures:
        ends = tuple(x for e in (one.before, one.after) for x in (e.value, e.low, e.high, e.n))
        varies = one.before.low < one.before.high and 0 not in (one.before.value, one.after.value)
        if varies and seen.setdefault(ends, one.table) != one.table:
            continue
        if one.by_unit is not None:
            # Rounded, and without its sign: among these a mirror is to be found.
            alike = columns.setdefault(tuple(np.nan_to_num(np.abs(one.by_unit)).round(9)), [])
            if one.family != ANSWER and any(_is_mirror(one, other) for other in alike):
                mirrors.append(one)
                continue
            alike.append(one)
        yield one


def _is_mirror(one: Figure, other: Figure) -> bool:
    """Whether they are two levels of one share that make 1 together, before, after and by unit."""
    levels = one.table == "shares" and one.keys.get("factor") == other.keys.get("factor")
    is_of_one = one.table == other.table and (levels or one.keys == other.keys)
    if one.by_unit is None or other.by_unit is None:
        return False
    if not (is_of_one or (other.family == ANSWER and np.nan_to_num(one.by_unit).any())):
        return False
    ends = zip((one.before, one.after), (other.before, other.after), strict=True)
    return (
        np.array_equal(np.isnan(one.by_unit), np.isnan(other.by_unit))
        and np.allclose(np.nan_to_num(one.by_unit + other.by_unit), 0.0, atol=_ROUNDING)
        and all(abs(a.value + b.value - 1) < _ROUNDING for a, b in ends)
    )


class _Named:
    """What the figures of an audit are called, and how they are read."""

    def __init__(self, view: AuditView, definition: Definition) -> None:
        self.view, self.definition = view, definition
        self.every = view.names(*view.labels)
        self.titles = {
            (table.table, one.name): one.title or words(one.name)
            for table in self.definition.table_views for one in table.measures
            if one.field in ("estimate", "value") and one.title != _SAYS_LITTLE
        } | _TITLES  # fmt: skip
        # Points and numbers have few decimals; shares are compared to the third.
        self.digits = {
            (table.table, one.name): one.digits
            for table in self.definition.table_views for one in table.measures
            if one.field in ("estimate", "value") and one.digits < 2
            and not (one.is_percent or one.is_count)
        }  # fmt: skip

    def named(self, place: Place, shown: Mapping[str, Any]) -> tuple[str, str]:
        """Heading and name of a figure and those like it; both empty where no table has them."""
        table, measure, _ = place
        if table in ("outcomes", "shares"):
            return "", str(shown["label"])
        if table == "parts":
            outcome = self.definition.outcomes[measure]
            return str(shown["section"]), str(_measured(outcome.title, outcome.scale)["label"])
        if all(one.table != table for one in self.definition.table_views):
            return "", str(shown.get("what") or shown["section"])
        if (table, measure) not in self.titles:
            return "", ""
        return str(shown["section"]), self.titles[table, measure]

    def shown(self, place: Place) -> dict[str, Any] | None:
        """The fields of a `Figure` on how it is read; None for what is no figure to compare."""
        table, measure, given = place
        keys = dict(given)
        found = self.definition
        if measure.endswith(_SQUARE) or table in _TESTS:
            return None
        if table == "outcomes":
            outcome = found.outcomes.get(measure)
            # A difference that is an outcome too stands with its sides in the differences.
            if outcome and outcome.of is None and found.differences and outcome.scale[0] < 0:
                return None
            return self._outcome(measure)
        for name, contrast in found.contrasts.items():
            if table == name or table.startswith(f"{name}_by_"):
                return self._contrast(name, contrast, table, measure, keys)
        if (one := found.differences.get(table)) is not None:
            sides = " − ".join(one.sides(keys.get("factor", "")))
            return {
                "label": f"{one.title}, {sides}", "what": one.title, "short": sides,
                "digits": one.digits, "null": 0.0,
                "null_name": "no difference",
            }  # fmt: skip
        if table == "parts":
            outcome = found.outcomes[measure]
            by = " x ".join(self.view.word(c) for c in keys["factor"].split(CROSS))
            where = CROSS.join(self.every.get(v, v) for v in keys["group"].split(CROSS))
            named = f"{_measured(outcome.title, outcome.scale)['label']}, {where}"
            return self._detail(named, f"By {by}", outcome.digits, outcome.scale)
        if table == "shares":
            shares = found.shares[keys["factor"]]
            level = shares.levels[keys["group"]]
            return self._detail(level, shares.title, 3, (0.0, 1.0))
        view = self._table_of(table, measure, keys)
        told = [key for key in (view.keys if view else KEYS) if key in keys]
        values = [self.every.get(keys[key], keys[key]) for key in told]
        label = ", ".join([self.titles.get((table, measure), words(measure)), *values])
        section = words(table) if view is None else view.section
        return self._detail(label, section, self.digits.get((table, measure), 3))

    def _table_of(self, table: str, measure: str, keys: Mapping[str, str]) -> TableView | None:
        """The table of the report in which the figure stands, whose keys tell it from others."""
        holds = [
            one for one in self.definition.table_views
            if one.table == table and one.keys
            and all(keys.get(key) == value for key, value in one.where.items())
        ]  # fmt: skip
        shows = [one for one in holds if any(column.name == measure for column in one.measures)]
        return next(iter(shows or holds), None)

    def _outcome(self, measure: str) -> dict[str, Any]:
        change = self.definition.changes.get(measure)
        if change is not None:
            return {**_measured(change.title), "bounds": (0.0, 1.0), "digits": 3}
        change = self.definition.changes.get(measure.removesuffix(_LEAN))
        if change is not None and change.lean:
            return self._detail(change.lean_title, change.title, 3, (-1.0, 1.0))
        one = self.definition.outcomes.get(measure)
        if one is None:  # not among those that these options show
            return self._detail(words(measure), "Other outcomes", 3)
        low, high = one.scale
        null, name = one.neutral, "no preference"
        if null is None and low == -high and not one.of:  # a difference, made by the class
            null, name = 0.0, "no difference"
        shown = {
            **_measured(one.title, one.scale), "digits": one.digits, "scale": one.scale,
            "bounds": one.scale,
        }  # fmt: skip
        if null is not None and low < null < high:
            return {**shown, "null": null, "null_name": name}
        return {**shown, "worse": {"more": 1, "less": -1, "": 0}[one.worse]}

    def _contrast(
        self, name: str, contrast: Contrast, table: str, measure: str, keys: Mapping[str, str]
    ) -> dict[str, Any] | None:
        names = self.view.contrast_names(contrast)
        of = keys.get("group", "")
        group = names["group"].get(of, of)
        outcome = self.definition.outcomes.get(contrast.of)
        scale = outcome.scale if outcome else contrast.scale
        # Of a column of numbers whose contrast names no scale, nobody knows the ends.
        whole = scale if outcome or scale != (0.0, 1.0) else None
        apart = None if whole is None else (whole[0] - whole[1], whole[1] - whole[0])
        if table == name and measure == "difference":
            return {
                "label": f"{contrast.title} of {group}", "what": contrast.title, "short": group,
                "digits": contrast.digits, "null": 0.0,
                "null_name": contrast.reference_name, "scale": contrast.scale,
                "bounds": apart, "in_points": bool(contrast.points),
            }  # fmt: skip
        if measure not in ("mean", "difference"):
            return None
        if table == name:
            title = contrast.mean_title
            bounds = whole if measure == "mean" else apart
            section = f"{title} of every group"
            return self._detail(f"{title} of {group}", section, contrast.digits, bounds)
        by = self.view.word(table.removeprefix(f"{name}_by_"))
        detail = names["detail"].get(keys["detail"], keys["detail"])
        return self._detail(
            f"{contrast.title} of {group}, {detail}", f"{contrast.title} by {by}", contrast.digits
        )

    @staticmethod
    def _detail(
        label: str, section: str, digits: int, bounds: tuple[float, float] | None = None
    ) -> dict[str, Any]:
        return {
            "label": label, "digits": digits, "family": section, "section": section,
            "bounds": bounds,
        }  # fmt: skip


def _measured(title: str, scale: tuple[float, float] = (0.0, 1.0)) -> dict[str, Any]:
    """What an outcome is called, with its unit: a share, or points where its title says so."""
    name, comma, unit = title.rpartition(", in ")
    if comma and unit == "points":
        return {"label": name, "in_points": True}
    is_told = scale != (0.0, 1.0) or "rate" in title or "share" in title
    return {"label": title if is_told else f"share of “{title}”"}
