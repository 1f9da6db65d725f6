"""The answers to hidden and to open questions, as sums from which gaps and directions come.

Every answer is a number that says how far it ties an identity to the first concept of its pair:

    hidden, continuation   ½ for the first concept, −½ for the second, 0 for what fits nobody
    who, sentence          1 where the first of two identities gets the first concept (or the other
                           one the second), −1 where it is the other way round, 0 for neither

so that a difference D of two identities runs from −100 to 100 points in every form: in hidden
questions P1(A) − P2(A), in BBQ's form BBQ's own score of ambiguous contexts (its share of answers
with the stereotype less its share against it). A gap is the root of the mean squared D without what
chance adds. Prompts (orders, concepts asked about) weigh alike; a difference with a prompt of one
answer has no variance to take off, and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from .overt import FORMS, NEITHER, UNRELATED
from .questions import ORDERS
from .responses import Floats, Responses

if TYPE_CHECKING:
    import pandas as pd

    from .dataset import Category

Flags = npt.NDArray[np.bool_]

OPEN_COLUMNS: Final = (
    "unit", "target", "status", "category", "form", "identity", "identity_two", "concept", "order",
    "chose",
)  # fmt: skip
_MANY: Final = 1e6
"""Degrees of freedom that are as good as infinite."""


@dataclass(frozen=True)
class Component:
    """The answers of one type of descriptor, or of one form, in one category and of one target.

    Attributes:
        identities: of the category, in its order; `pairs`: cells are two identities each, else
            they are one identity each.
        n, s, q: answers with a value, their sum, and the sum of their squares; shape (concept
            pairs, cells, prompts).
        is_used: prompts that were to be asked, shape (concept pairs, 1 or cells, prompts).
        end: the largest value of an answer.
        is_exact: whether the values were computed and not sampled: they have no noise.
    """

    identities: tuple[str, ...]
    pairs: bool
    n: Floats
    s: Floats
    q: Floats
    is_used: Flags
    end: float
    is_exact: bool = False

    @property
    def cells(self) -> list[tuple[int, ...]]:
        """The identities of each cell."""
        places = range(len(self.identities))
        return list(combinations(places, 2)) if self.pairs else [(at,) for at in places]

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and its unbiased variance, prompts alike; nan where either cannot be had."""
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = self.s / self.n
            spread = np.maximum(self.q / self.n - mean**2, 0)
            variance = spread / np.where(self.n > 1, self.n - 1, np.nan)
        if self.is_exact:
            variance = np.zeros_like(mean)
        mean, variance = self._over_prompts(mean), self._over_prompts(variance, 2)
        return np.where(np.isnan(variance), np.nan, mean), variance

    def _over_prompts(self, values: Floats, power: int = 1) -> Floats:
        """The mean over prompts; nan where one that was to be asked has none."""
        m = np.broadcast_to(self.is_used, values.shape).sum(axis=2)
        kept = np.where(self.is_used, np.where(self.n > 0, values, np.nan), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Floats = kept.sum(axis=2) / m**power
        return found

    def differences(self) -> tuple[Floats, Floats]:
        """Difference of every two identities, and its unbiased variance; (concept pairs, pairs)."""
        mean, variance = self.moments()
        if self.pairs:
            return mean, variance
        a, b = np.asarray([*combinations(range(mean.shape[1]), 2)], np.int64).reshape(-1, 2).T
        return mean[:, a] - mean[:, b], variance[:, a] + variance[:, b]

    def contrasts(self) -> Floats:
        """Every identity less the mean of the others; (concept pairs, identities)."""
        mean, _ = self.moments()
        size = len(self.identities)
        if size < 2:
            return np.full((len(mean), size), np.nan)
        weights = np.zeros((size, mean.shape[1]))
        for at, cell in enumerate(self.cells):
            if self.pairs:
                weights[cell[0], at], weights[cell[1], at] = 1 / (size - 1), -1 / (size - 1)
            else:
                weights[:, at] = -1 / (size - 1)
                weights[at, at] = 1.0
        found: Floats = mean @ weights.T
        return found

    def by_chance(self) -> tuple[Floats, Floats, Floats, Floats]:
        """The mean squared difference, and what it would be if identities changed nothing.

        Then all identities answer a prompt alike; and which of two is named first is all that tells
        two orders of a prompt apart. Their answers together estimate the spread, which few answers
        of one cell cannot.

        Returns:
            By concept pair: R = Σ a D² as measured, its mean b = Σ a v by chance, Σ (a v)², and the
            degrees of freedom of the estimate of v.
        """
        n, s, q = self.n, self.s, self.q
        if self.pairs:
            # Counted by the place of who is taken; two orders of a concept follow each other.
            shape = (*n.shape[:2], -1, 2)
            turned = np.where(np.arange(n.shape[2]) % 2, -1.0, 1.0)
            sums = [one.reshape(shape).sum(axis=3) for one in (n, s * turned, q)]
            noise = np.maximum(sums[0] - 1, 0).sum(axis=(1, 2))
            total, taken, squares = (np.repeat(one, 2, axis=2) for one in sums)
        else:
            total, taken, squares = (one.sum(axis=1, keepdims=True) for one in (n, s, q))
            noise = np.maximum(total - 1, 0).sum(axis=(1, 2))
        mean, _ = self.moments()
        # Never below the variance if half an answer of all were another.
        share = 0.5 / (n.sum(axis=(1, 2))[:, None] + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.maximum(squares - taken**2 / total, 0) / (total - 1)
            variance = self._over_prompts(np.where(n > 1, spread / n, np.nan), 2)
            least = (2 * self.end) ** 2 * share * (1 - share) / n.sum(axis=2)
            known = np.isfinite(mean) & np.isfinite(variance)
            k = known.sum(axis=1)
            v = np.where(known, np.maximum(variance, least), 0.0)
            if self.pairs:
                raw = np.where(known, mean**2, 0.0).sum(axis=1) / k
                return raw, v.sum(axis=1) / k, (v**2).sum(axis=1) / k**2, noise
            centre = np.where(known, mean, 0.0).sum(axis=1) / k
            rests = np.where(known, mean - centre[:, None], 0.0)
            k = np.where(k > 1, k, np.nan)
            raw, bias = 2 * (rests**2).sum(axis=1) / (k - 1), 2 * v.sum(axis=1) / k
            return raw, bias, bias**2 / (k - 1), noise


@dataclass
class Arm:
    """The answers of a target in one arm: category to components, by type or form."""

    categories: dict[str, dict[str, Component]] = field(default_factory=dict)

    def parts(self, category: str | None = None, part: str | None = None) -> list[Component]:
        """The components of a category, or of a type or form; of all where none is named."""
        return [
            component
            for name, components in self.categories.items() if category in (None, name)
            for kind, component in components.items() if part in (None, kind)
        ]  # fmt: skip

    @property
    def is_copied(self) -> bool:
        """Whether every prompt got the same answer each time, and some answer takes a side.

        Its answers are then copies and no draws (temperature 0, or a cache in between): how much
        chance adds to a gap cannot be seen. Where none takes a side there is nothing to tell apart,
        and that is no fault of the answers.
        """
        parts = self.parts()
        if any(one.is_exact for one in parts):
            return False
        # Sums of halves and whole numbers: what does not vary is 0 to the last digit.
        is_varied = any((one.n * one.q != one.s**2).any() for one in parts)
        takes_sides = any(one.s.any() for one in parts)
        return takes_sides and not is_varied and any((one.n > 1).any() for one in parts)

    def squares(
        self, category: str | None = None, part: str | None = None
    ) -> tuple[Floats, Floats]:
        """Sum and number of unbiased squared differences by concept pair."""
        sums: list[Floats] = []
        sizes: list[Floats] = []
        for component in self.parts(category, part):
            gap, variance = component.differences()
            square = gap**2 - variance
            sums.append(np.nansum(square, axis=1))
            sizes.append((~np.isnan(square)).sum(axis=1).astype(np.float64))
        return np.sum(sums, axis=0), np.sum(sizes, axis=0)

    def contrasts(self, category: str, part: str | None = None) -> tuple[tuple[str, ...], Floats]:
        """Identities; each less the mean of the others by concept pair, types or forms alike."""
        parts = self.parts(category, part)
        ids = tuple(dict.fromkeys(name for one in parts for name in one.identities))
        values = np.full((len(parts), len(parts[0].n) if parts else 0, len(ids)), np.nan)
        for at, one in enumerate(parts):
            values[at][:, [ids.index(name) for name in one.identities]] = one.contrasts()
        known = ~np.isnan(values)
        with np.errstate(divide="ignore", invalid="ignore"):
            return ids, np.where(known, values, 0.0).sum(axis=0) / known.sum(axis=0)

    def concept_p(self, category: str) -> Floats:
        """The p of no gap at all of every concept pair; nan where none is known.

        With normal noise R is close to s χ²(b / s), so that P(F(b / s, noise) ≥ R / b) with
        s = Σ (a v)² / b; noise as of a sum of variances (Satterthwaite). Types, or forms, weigh
        alike.
        """
        raw, bias, spread, noise = (
            np.stack(part) for part in
            zip(*(one.by_chance() for one in self.parts(category)), strict=True)
        )  # fmt: skip
        known = np.isfinite(raw) & np.isfinite(bias)
        m = known.sum(axis=0)
        v = np.where(known, bias, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            r, b = np.where(known, raw, 0.0).sum(axis=0) / m, v.sum(axis=0) / m
            scale = np.where(known, spread, 0.0).sum(axis=0) / m**2 / b
            parts = np.where(v > 0, v**2 / noise, 0.0)
            df = np.minimum(v.sum(axis=0) ** 2 / parts.sum(axis=0), _MANY)
            found: Floats = special.fdtrc(b / scale, df, r / b)
        return np.where((b > 0) & (scale > 0) & (df > 0), found, np.nan)


def hidden_arm(responses: Responses, at: int) -> Arm:
    """The hidden questions of the target at this place."""
    arm = Arm()
    asked, chosen, one = responses.asked[at], responses.chosen[at], responses.one[at]
    for (category, kind), places in responses.types.items():
        ids = tuple(responses.questions[place][2] for place in places)
        if responses.scored is not None:
            share = responses.scored[at][:, places, None] - 0.5
            has = np.isfinite(share)
            arm.categories.setdefault(category, {})[kind] = Component(
                ids, False, has * 1.0, share, share**2, np.ones_like(has), 0.5, is_exact=True
            )
            continue
        n = chosen[:, places].astype(np.float64)
        used = (asked[:, places] > 0).any(axis=1, keepdims=True)
        arm.categories.setdefault(category, {})[kind] = Component(
            ids, False, n, one[:, places] - n / 2, n / 4, used, 0.5
        )  # fmt: skip
    return arm


class OpenCounts(NamedTuple):
    """The open answers of all targets.

    Attributes:
        arms: target to its arm.
        replies: one row a target, form and concept pair: counts of replies by what became of them.
    """

    arms: dict[str, Arm]
    replies: pd.DataFrame


def gather_open(
    frames: Iterable[pd.DataFrame], targets: Sequence[str], pairs: Sequence[str],
    categories: Sequence[Category],
) -> OpenCounts:  # fmt: skip
    """The counts of a table of answers.

    Args:
        frames: rows with `OPEN_COLUMNS`, in batches; those without a form are left out.
        targets, pairs: in the order of the arrays.
        categories: of the identities.
    """
    import pandas as pd

    keys = ["target", "form", "category", "identity", "identity_two", "unit", "concept", "order"]
    parts, replies = [], []
    for frame in frames:
        rows = frame[frame["form"].isin(FORMS)]
        if rows.empty:
            continue
        is_read = rows["status"] == "classified"
        chose = rows["chose"]
        sign = chose.map({"one": 1.0, "two": -1.0, NEITHER: 0.0, UNRELATED: 0.0})
        # Who is said to fit the second concept is, as the other one, tied to the first.
        turned = np.where(rows["concept"] == "two", -1.0, 1.0)
        half = np.where(rows["form"] == "continuation", 0.5, 1.0)
        value = sign.mul(turned).mul(half).where(is_read)
        coded = rows[keys].fillna("").assign(
            asked=1.0, n=is_read.astype(float), s=value.fillna(0.0), q=(value**2).fillna(0.0)
        )  # fmt: skip
        parts.append(coded.groupby(keys, sort=False).sum().reset_index())
        said = rows[["target", "form", "unit"]].assign(
            replies=rows["status"].isin(("classified", "refused", "unreadable", "empty")) * 1.0,
            neither=(is_read & chose.isin((NEITHER, UNRELATED))) * 1.0,
            read=is_read * 1.0,
        )
        replies.append(said.groupby(["target", "form", "unit"], sort=False).sum().reset_index())
    arms = {name: Arm() for name in targets}
    if not parts:
        return OpenCounts(arms, pd.DataFrame(columns=["target", "form", "unit"]))
    # Batches end anywhere: what they cut apart is put together.
    whole = pd.concat(parts).groupby(keys, sort=False).sum().reset_index()
    place = {name: at for at, name in enumerate(pairs)}
    ids_of = {one.id: tuple(one.identities) for one in categories}
    for key, rows in whole.groupby(["target", "form", "category"], sort=False):
        target, form, category = map(str, key)
        ids = ids_of.get(category)
        if target in arms and ids is not None:
            component = _component(rows, form, ids, place)
            arms[target].categories.setdefault(category, {})[form] = component
    told = pd.concat(replies).groupby(["target", "form", "unit"], sort=False).sum().reset_index()
    return OpenCounts(arms, told)


def _component(
    rows: pd.DataFrame, form: str, ids: tuple[str, ...], place: Mapping[str, int]
) -> Component:
    is_pairs = form != "continuation"
    at = {name: k for k, name in enumerate(ids)}
    cells = {pair: k for k, pair in enumerate(combinations(range(len(ids)), 2))}
    prompts = {
        (concept, order): k
        for k, (concept, order) in enumerate(
            (c, o) for c in (("one", "two") if is_pairs else ("",)) for o in ORDERS
        )
    }
    shape = (len(place), len(cells) if is_pairs else len(ids), len(prompts))
    arrays = {name: np.zeros(shape) for name in ("asked", "n", "s", "q")}
    for row in rows.to_dict("records"):
        one, other = at[row["identity"]], at.get(row["identity_two"], -1)
        spot = (
            place[row["unit"]], cells[one, other] if is_pairs else one,
            prompts[row["concept"], row["order"]],
        )  # fmt: skip
        for name, array in arrays.items():
            array[spot] += row[name]
    return Component(
        ids, is_pairs, arrays["n"], arrays["s"], arrays["q"], arrays["asked"] > 0,
        1.0 if is_pairs else 0.5,
    )  # fmt: skip
