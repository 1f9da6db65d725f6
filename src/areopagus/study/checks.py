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

ALIKE_SHARE = 0.5
ALIKE_LEAST_PAGES = 2
SAME_SHARE = 0.9
SAME_LEAST_RESPONSES = 12


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

    def add(self, found: Estimates, code: str, rater: str) -> list[str]:
        """Adds a rater's figures, and returns the flags.

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
        speeds: list[float] = []
        same: list[bool] = []
        models: dict[str, list[float]] = {STANDARD: [], ALL_MODELS: []}
        for packet in packets:
            page = self._pages.get((code, packet.number))
            if page is None:
                continue
            n_scores += sum(len(row) for row in page.scores.values())
            longest = max(longest, _longest_run(page, packet.labels, dimensions))
            summed = page.sums(packet.labels, dimensions)
            hidden = {label: self._labels[code, packet.number, label] for label in packet.labels}
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
                speeds.append(_words(packet) / max(page.active_s / 60, 1 / 60))
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
        if n_done < len(packets):
            flags.append(f"incomplete: {n_done} of {len(packets)} pages")
        if n_floor_seen < n_floor:
            flags.append(f"put the weak response last on {n_floor_seen} of {n_floor} pages")
        if fast := sum(speed > READING_LIMIT for speed in speeds):
            flags.append(f"faster than can be read on {fast} of {len(speeds)} pages")
        if n_done >= ALIKE_LEAST_PAGES and n_alike / n_done >= ALIKE_SHARE:
            flags.append(f"all responses alike on {n_alike} of {n_done} pages")
        if len(same) >= SAME_LEAST_RESPONSES and fmean(same) >= SAME_SHARE:
            flags.append(f"one score on all criteria for {fmean(same):.0%} of responses")
        return flags


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
