"""What to look at before trusting a rater: figures of each, and flags. Nobody is left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median

from ..aggregation.estimate import Estimate, undefined
from ..records.estimates import Estimates
from .build import ALL_MODELS, FLOOR, STANDARD
from .folder import Packet
from .returned import ReturnedPage

READING_LIMIT = 700
"""Words a minute that nobody reads with understanding: three times the 238 of adults who read
silently. Source: Brysbaert (2019), Journal of Memory and Language 109, 104047."""

FAST_TIMES = 4.0
"""So many times the pace of the others is named, where at least `FAST_LEAST_OTHERS` have one. Paces
of careful raters are about log-normal with an SD near 0.5, of whom 3 in 1,000 are that fast."""

FAST_LEAST_OTHERS = 4

ALIKE_SHARE = 0.5
ALIKE_LEAST_PAGES = 2
SAME_SHARE = 0.9
SAME_LEAST_RESPONSES = 12


_UNKNOWN = {"item_type": "", "source": ""}


def share_of(n: int, planned: int, unit: str) -> Estimate:
    """A count of those that there could be."""
    return Estimate(float(n), n=n, n_planned=planned, unit=unit, method="count")


class RaterChecks:
    """The figures of each rater, and what of them an organiser should look at."""

    def __init__(
        self,
        packets: Sequence[Packet],
        pages: Iterable[ReturnedPage],
        labels: Mapping[tuple[str, int, str], Mapping[str, str]],
        dimensions: Sequence[str],
    ) -> None:
        self._packets = packets
        self._pages = {(page.rater, page.number): page for page in pages}
        self._labels = labels
        self._dimensions = dimensions
        self.n_done = 0
        """Pages scored whole, of the raters added."""
        self._paces = self._paces_of_all()
        racing = [code for code, paces in self._paces.items() if _most_are_fast(paces)]
        self._is_no_measure = 2 * len(racing) > len(self._paces) > 1
        self.notices: list[str] = []
        """What holds of the raters together."""
        if self._is_no_measure:
            self.notices.append(
                f"{len(racing)} of {len(self._paces)} raters were faster than can be read on most "
                "of their pages: ratings that a script or a sheet brought carry no reading time, "
                "so speed flags nobody here"
            )

    def add(self, found: Estimates, code: str, rater: str, *, is_over: bool = True) -> list[str]:
        """Adds a rater's figures, and returns the flags.

        While the study runs (`is_over` false) a page that is not done is no flag.

        pages, scores: pages scored whole, and scores given, of those asked for.
        minutes: median active minutes of a page.
        words_per_minute: of the fastest page: words of prompt and responses by active minutes.
        weak_last: quality-floor items on which the weak response came last, alone or with others.
        all_models_gap: mean score of models where only models stand, less that of models on
            standard pages. One page: a description.
        alike: share of pages on which all responses have one sum.
        same: share of responses with one score on all criteria (three or more).
        longest_run: most equal scores in a row, in the order shown.
        """
        packets = [packet for packet in self._packets if packet.rater == code]
        dimensions = self._dimensions
        n_done = n_scores = n_floor = n_floor_seen = n_alike = longest = 0
        minutes: list[float] = []
        speeds = self._paces.get(code, [])
        same: list[bool] = []
        models: dict[str, list[float]] = {STANDARD: [], ALL_MODELS: []}
        for packet in packets:
            page = self._pages.get((code, packet.number))
            if page is None:
                continue
            n_scores += sum(len(row) for row in page.scores.values())
            longest = max(longest, _longest_run(page, packet.labels, dimensions))
            summed = page.sums(packet.labels, dimensions)
            # Where the organiser's map is not here, no page is known as a calibration item.
            hidden = {
                label: self._labels.get(
                    (code, packet.number, label), {"item_type": "", "source": ""}
                )
                for label in packet.labels
            }
            item_type = next(iter(hidden.values()))["item_type"]
            if len(dimensions) >= 3:
                same += [len(set(page.scores[label].values())) == 1 for label in summed]
            if item_type in models:
                of_models = [label for label in summed if hidden[label]["source"] == "model"]
                models[item_type] += [summed[label] / len(dimensions) for label in of_models]
            if len(summed) < len(packet.labels):
                continue
            n_done += 1
            n_alike += len(set(summed.values())) == 1
            if page.active_s is not None:
                minutes.append(page.active_s / 60)
            if item_type == FLOOR:
                n_floor += 1
                weak = [label for label, one in hidden.items() if "weak" in one["source"]]
                n_floor_seen += bool(weak) and summed[weak[0]] <= min(summed.values())
        self.n_done += n_done
        asked = sum(len(packet.labels) for packet in packets) * len(dimensions)
        found.add("raters", "pages", share_of(n_done, len(packets), "page"), rater=rater)
        found.add("raters", "scores", share_of(n_scores, asked, "score"), rater=rater)
        if n_floor:
            seen = share_of(n_floor_seen, n_floor, "page")
            found.add("raters", "weak_last", seen, rater=rater)
        gap = None
        if models[STANDARD] and models[ALL_MODELS]:
            gap = fmean(models[ALL_MODELS]) - fmean(models[STANDARD])
        for name, value, n, unit in (
            ("minutes", median(minutes) if minutes else None, len(minutes), "page"),
            ("words_per_minute", max(speeds) if speeds else None, len(speeds), "page"),
            ("all_models_gap", gap, len(models[ALL_MODELS]), "response"),
            ("alike", n_alike / n_done if n_done else None, n_done, "page"),
            ("same", fmean(same) if same else None, len(same), "response"),
            ("longest_run", longest, n_scores, "score"),
        ):
            figure = undefined("nothing of this was saved", unit=unit)
            if value is not None:
                figure = Estimate(float(value), n=n, unit=unit, method="description")
            found.add("raters", name, figure, rater=rater)
        flags: list[str] = []
        if is_over and n_done < len(packets):
            flags.append(f"incomplete: {n_done} of {len(packets)} pages")
        if n_floor_seen < n_floor:
            flags.append(f"put the weak response last on {n_floor_seen} of {n_floor} pages")
        flags += self._speed_flags(code)
        if n_done >= ALIKE_LEAST_PAGES and n_alike / n_done >= ALIKE_SHARE:
            flags.append(f"all responses alike on {n_alike} of {n_done} pages")
        if len(same) >= SAME_LEAST_RESPONSES and fmean(same) >= SAME_SHARE:
            flags.append(f"one score on all criteria for {fmean(same):.0%} of responses")
        return flags

    def _paces_of_all(self) -> dict[str, list[float]]:
        """Code to words a minute of each page that was scored whole in a known time."""
        found: dict[str, list[float]] = {}
        for packet in self._packets:
            page = self._pages.get((packet.rater, packet.number))
            if page is None or page.active_s is None:
                continue
            if len(page.sums(packet.labels, self._dimensions)) == len(packet.labels):
                pace = _words(packet) / max(page.active_s / 60, 1 / 60)
                found.setdefault(packet.rater, []).append(pace)
        return found

    def _speed_flags(self, code: str) -> list[str]:
        """Too fast for the length of the pages, or next to the others."""
        mine = self._paces.get(code, [])
        if not mine or self._is_no_measure:
            return []
        if fast := sum(pace > READING_LIMIT for pace in mine):
            return [f"faster than can be read on {fast} of {len(mine)} pages"]
        others = [median(paces) for other, paces in self._paces.items() if other != code]
        if len(others) < FAST_LEAST_OTHERS or median(mine) < FAST_TIMES * median(others):
            return []
        return [f"{median(mine) / median(others):.1f} times as fast as the others"]


def _most_are_fast(paces: Sequence[float]) -> bool:
    return 2 * sum(pace > READING_LIMIT for pace in paces) > len(paces)


def _words(packet: Packet) -> int:
    return len(packet.prompt.split()) + sum(len(one.text.split()) for one in packet.responses)


def _longest_run(page: ReturnedPage, labels: Sequence[str], dimensions: Sequence[str]) -> int:
    longest = run = 0
    last: int | None = None
    for label in labels:
        for name in dimensions:
            score = page.scores.get(label, {}).get(name)
            run = run + 1 if score is not None and score == last else int(score is not None)
            last = score
            longest = max(longest, run)
    return longest
