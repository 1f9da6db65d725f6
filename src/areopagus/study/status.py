"""How far a study is, for its organiser: read while it is served, and nothing is written."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from ..aggregation.estimate import Estimate, undefined
from ..errors import InputError
from ..formats import listed, units
from ..records.estimates import Estimates
from ..shown import Shown
from .app import ended
from .checks import RaterChecks, share_of
from .collect import StudyMap, read_map
from .folder import (
    ORGANISER,
    PACKETS,
    RATERS_FILE,
    STORE_FILE,
    STUDY_FILE,
    Packet,
    StudyFile,
    read_codes,
    read_packets,
    read_study,
)
from .returned import from_store
from .store import SavedPage, look_into_store

if TYPE_CHECKING:
    from ..reports.document import Document

_WORDS = {
    "rating": ("rater", "rating"),
    "writing": ("writer", "response"),
    "labelling": ("rater", "label"),
}
"""Kind of a study to who takes part, and what each gives."""

_SHORT = 4
"""Up to so many prompts that lack ratings are named."""


def is_study(folder: str | Path) -> bool:
    """Whether a folder is that of a study."""
    return (Path(folder) / PACKETS / STUDY_FILE).is_file()


@dataclass(frozen=True, slots=True)
class RaterStatus:
    """Where one rater is.

    Attributes:
        rater: id; the code where the organiser's folder is not here.
        n_pages, n_done: pages, and those that are done.
        begun, last: seconds since 1970 of the first page opened and the last save; None before.
        flags: what to look at, without what is merely not done yet.
    """

    rater: str
    n_pages: int
    n_done: int
    begun: float | None
    last: float | None
    flags: tuple[str, ...]

    @property
    def state(self) -> str:
        """not begun, begun or done."""
        if self.n_done == self.n_pages:
            return "done"
        return "not begun" if self.begun is None else "begun"


@dataclass(frozen=True, slots=True)
class StudyStatus(Shown):
    """How far a study is.

    Attributes:
        folder: the study.
        title, kind: of the study.
        raters: where each rater is.
        estimates: the figures: of the study, of each rater.
        notices: sentences for the organiser.
        lacking: prompts that fewer people have done than were asked, with (done, asked).
    """

    folder: Path
    title: str
    kind: str
    raters: tuple[RaterStatus, ...]
    estimates: Estimates
    notices: tuple[str, ...]
    lacking: Mapping[str, tuple[int, int]]

    @property
    def is_complete(self) -> bool:
        """Whether everybody is done."""
        return all(one.state == "done" for one in self.raters)

    @property
    def headline(self) -> str:
        """Who is done, and how much there is."""
        who, what = _WORDS[self.kind]
        states = Counter(one.state for one in self.raters)
        given = self.estimates.frame().query("table == 'study' and measure == 'given'").iloc[0]
        return (
            f"{states['done']} of {units(len(self.raters), who)} done, "
            f"{int(given['n']):,} of {units(int(given['n_planned']), what)}."
        )

    def document(self) -> Document:
        """Who is done, what is missing and whom to look at; a line a rater."""
        from ..reports.document import Document, Points, Section
        from ..reports.views import Measure, estimates_table

        states = Counter(one.state for one in self.raters)
        second = f"{states['begun']} at it, {states['not begun']} not begun."
        headline = [self.headline] if self.is_complete else [self.headline, second]
        flagged = [one for one in self.raters if one.flags]
        told = f"{len(flagged)} to look at" if flagged else "nothing to look at"
        missing = [
            (f"{word}:", listed([_of(one) for one in self.raters if one.state == state], 12))
            for state, word in (("not begun", "Not begun"), ("begun", "Begun"))
            if states[state]
        ]
        short = sorted(self.lacking.items(), key=lambda item: item[1][0] - item[1][1])
        if short:
            named = [f"{prompt} ({n} of {asked})" for prompt, (n, asked) in short]
            missing.append(("Prompts:", listed(named, _SHORT)))
        sections = []
        if missing:
            sections.append(Section("missing", "What is missing", [Points(missing)], "summary"))
        if flagged:
            look = [(f"{one.rater}:", "; ".join(one.flags)) for one in flagged]
            sections.append(Section("flags", "Look at", [Points(look)], "summary"))
        table = estimates_table(
            self.estimates.frame(), "raters",
            keys={"rater": "rater"},
            measures=[
                Measure("done", "done", "n_of"),
                Measure("scores", "scores", "n_of"),
                Measure("minutes", "min a page", "value", digits=1),
                Measure("minutes_in_all", "min in all", "value", digits=0),
                Measure("hours_since", "h since last", "value", digits=1),
            ],
            caption="Done: pages; minutes: somebody acted on the page; h since last: hours since "
            "the last save.",
            label="Raters",
        )  # fmt: skip
        if table is not None:
            sections.append(Section("raters", "Rater by rater", [table], "detail"))
        return Document(
            title=self.title,
            kind="study",
            headline=headline,
            trust=[("raters", told)] if states["done"] or states["begun"] else [],
            notices=list(self.notices),
            sections=sections,
            more=[f"Next: areopagus study collect {self.folder}"] if self.is_complete else [],
        )


def _of(one: RaterStatus) -> str:
    return f"{one.rater} ({one.n_done} of {one.n_pages})" if one.begun is not None else one.rater


def study_status(
    folder: str | Path,
    *,
    store: str | Path | None = None,
    clock: Callable[[], float] = time.time,
) -> StudyStatus:
    """Returns how far a study is by what its server has saved; a server may be running.

    Without the organiser's folder, as on a machine that only serves, raters go by their codes and
    nothing is said of calibration items.

    Args:
        folder: the study.
        store: the server's store; by default `ratings.sqlite` in the study.
        clock: seconds since 1970.

    Raises:
        InputError: the folder is no study, or the store is of another one.
    """
    folder, now = Path(folder), clock()
    study, packets = read_study(folder), read_packets(folder)
    path = Path(store) if store is not None else folder / STORE_FILE
    saved = look_into_store(path, study.study_id) if store is not None or path.exists() else []
    hidden, names = _of_the_organiser(folder, packets)
    by_page = {(one.rater, one.number): one for one in saved}
    dimensions = study.rubric.dimension_ids if study.rubric is not None else ()
    checks = RaterChecks(packets, from_store(saved), hidden.labels, dimensions)
    figures, of_raters = Estimates(), Estimates()
    raters: list[RaterStatus] = []
    asked: Counter[str] = Counter()
    have: Counter[str] = Counter()
    n_given = n_asked = 0
    for code, name in names.items():
        mine = [packet for packet in packets if packet.rater == code]
        pages = [by_page.get((code, packet.number)) for packet in mine]
        is_done = [page is not None and ended(study, page, now) is not None for page in pages]
        for packet, done in zip(mine, is_done, strict=True):
            prompt = hidden.prompts.get((code, packet.number), packet.prompt[:60])
            asked[prompt] += 1
            have[prompt] += done
        given, planned = _given(study, mine, pages, is_done)
        n_given, n_asked = n_given + given, n_asked + planned
        flags: list[str] = []
        if study.kind == "rating":
            checked = Estimates()
            flags = checks.add(checked, code, name, is_over=False)
            of_raters.extend(checked)
        raters.append(_rater(of_raters, name, pages, is_done, flags, now, study.kind))
    ready = [one for one in raters if one.state == "done"]
    figures.add("study", "raters_done", share_of(len(ready), len(raters), "rater"))
    figures.add("study", "given", share_of(n_given, n_asked, _WORDS[study.kind][1]))
    figures.extend(of_raters)
    lacking = {one: (have[one], n) for one, n in asked.items() if have[one] < n}
    notices = [*checks.notices] if study.kind == "rating" else []
    if not saved:
        notices.append(f"nobody has opened a page yet ({path.name} holds none)")
    return StudyStatus(
        folder, study.title, study.kind, tuple(raters), figures, tuple(notices), lacking
    )


def _of_the_organiser(
    folder: Path, packets: Sequence[Packet]
) -> tuple[StudyMap, Mapping[str, str]]:
    """What stands behind the packets, and code to rater; codes alone where it is not here."""
    if (folder / ORGANISER / RATERS_FILE).is_file():
        try:
            return read_map(folder), read_codes(folder)
        except InputError:
            pass
    return StudyMap({}, {}), {packet.rater: packet.rater for packet in packets}


def _given(
    study: StudyFile,
    packets: Sequence[Packet],
    pages: Sequence[SavedPage | None],
    is_done: Sequence[bool],
) -> tuple[int, int]:
    """What a rater has given, of what was asked: responses scored whole, or pages."""
    if study.rubric is None:
        return sum(is_done), len(packets)
    whole = set(study.rubric.dimension_ids)
    rows = [row for page in pages if page for row in page.scores.values()]
    return sum(set(row) == whole for row in rows), sum(len(one.labels) for one in packets)


def _rater(
    found: Estimates,
    name: str,
    pages: Sequence[SavedPage | None],
    is_done: Sequence[bool],
    flags: Sequence[str],
    now: float,
    kind: str,
) -> RaterStatus:
    """Where a rater is; adds the figures."""
    opened = [page.opened_at for page in pages if page and page.opened_at is not None]
    saves = [page.saved_at for page in pages if page and page.saved_at is not None]
    spent = [page.active_ms / 60_000 for page in pages if page and page.active_ms]
    nothing = undefined("nothing of this was saved", unit="page")

    def figure(values: Sequence[float], value: Callable[[Sequence[float]], float]) -> Estimate:
        if not values:
            return nothing
        return Estimate(value(values), n=len(values), unit="page", method="description")

    found.add("raters", "done", share_of(sum(is_done), len(pages), "page"), rater=name)
    if kind != "rating":  # whose checks have it, of pages scored whole
        found.add("raters", "minutes", figure(spent, median), rater=name)
    found.add("raters", "minutes_in_all", figure(spent, sum), rater=name)
    found.add("raters", "hours_since", figure(saves, lambda v: (now - max(v)) / 3600), rater=name)
    return RaterStatus(
        name, len(pages), sum(is_done), min(opened, default=None), max(saves, default=None),
        tuple(flags),
    )  # fmt: skip
