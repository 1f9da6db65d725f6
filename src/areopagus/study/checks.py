"""What an organiser should look at before trusting a rater: nobody is left out for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from .build import ALL_MODELS, FLOOR, STANDARD
from .files import Packet
from .returned import ReturnedPage
from .unblind import Hidden, StudyMap, sums

READING_LIMIT = 700
"""Words a minute that nobody reads with understanding: three times the 238 of adults who read
silently. Source: Brysbaert (2019), Journal of Memory and Language 109, 104047."""

ALIKE_SHARE = 0.5
ALIKE_LEAST_PAGES = 2
SAME_SHARE = 0.9
SAME_LEAST_RESPONSES = 12


@dataclass(frozen=True, slots=True)
class RaterCheck:
    """One rater.

    Attributes:
        rater_id, rater_code: who.
        n_pages, n_done: pages given, pages scored whole.
        n_scores, n_scores_asked: scores given, and asked for.
        minutes: median active minutes of a page; None where not known.
        words_per_minute: of the fastest page: words of prompt and responses by active minutes.
        n_floor, n_floor_seen: quality-floor items scored whole, and those where the weak response
            came last, alone or with others.
        all_models_gap: mean score of models where only models stand, less that of models on
            standard pages; None where it cannot be said. One page: a description.
        alike: share of pages on which all responses have one sum.
        same: share of responses with one score on all criteria (three or more).
        longest_run: most equal scores in a row, in the order shown.
        flags: what to look at.
    """

    rater_id: str
    rater_code: str
    n_pages: int
    n_done: int
    n_scores: int
    n_scores_asked: int
    minutes: float | None
    words_per_minute: float | None
    n_floor: int
    n_floor_seen: int
    all_models_gap: float | None
    alike: float | None
    same: float | None
    longest_run: int
    flags: tuple[str, ...]


def check_raters(
    packets: Sequence[Packet],
    pages: Sequence[ReturnedPage],
    study_map: StudyMap,
    rater_of: Mapping[str, str],
    dimensions: Sequence[str],
) -> tuple[RaterCheck, ...]:
    """Returns a check of every rater of the study, also of those who have not begun."""
    by_page = {(page.rater, page.number): page for page in pages}
    return tuple(
        _check(
            rater_id,
            code,
            [packet for packet in packets if packet.rater == code],
            by_page,
            study_map,
            dimensions,
        )
        for code, rater_id in rater_of.items()
    )


def _check(
    rater_id: str,
    code: str,
    packets: Sequence[Packet],
    by_page: Mapping[tuple[str, int], ReturnedPage],
    study_map: StudyMap,
    dimensions: Sequence[str],
) -> RaterCheck:
    n_done = n_scores = n_floor = n_floor_seen = n_alike = longest = 0
    minutes: list[float] = []
    speeds: list[float] = []
    same: list[bool] = []
    models: dict[str, list[float]] = {STANDARD: [], ALL_MODELS: []}
    for packet in packets:
        page = by_page.get((code, packet.number))
        if page is None:
            continue
        n_scores += sum(len(row) for row in page.scores.values())
        longest = max(longest, _longest_run(page, packet.labels, dimensions))
        summed = sums(page, packet.labels, dimensions)
        hidden = {label: study_map.labels[code, packet.number, label] for label in packet.labels}
        item_type = next(iter(hidden.values())).item_type
        if len(dimensions) >= 3:
            same += [len(set(page.scores[label].values())) == 1 for label in summed]
        if item_type in models:
            models[item_type] += [
                summed[label] / len(dimensions)
                for label in summed
                if hidden[label].source == "model"
            ]
        if len(summed) < len(packet.labels):
            continue
        n_done += 1
        n_alike += len(set(summed.values())) == 1
        if page.active_s is not None:
            minutes.append(page.active_s / 60)
            speeds.append(_words(packet) / max(page.active_s / 60, 1 / 60))
        if item_type == FLOOR:
            n_floor += 1
            n_floor_seen += _weak_is_last(summed, hidden)
    gap = None
    if models[STANDARD] and models[ALL_MODELS]:
        gap = fmean(models[ALL_MODELS]) - fmean(models[STANDARD])
    alike = n_alike / n_done if n_done else None
    share = fmean(same) if same else None
    flags: list[str] = []
    if n_done < len(packets):
        flags.append(f"incomplete: {n_done} of {len(packets)} pages")
    if n_floor_seen < n_floor:
        flags.append(f"put the weak response last on {n_floor_seen} of {n_floor} pages")
    if speeds and max(speeds) > READING_LIMIT:
        n = sum(speed > READING_LIMIT for speed in speeds)
        flags.append(f"faster than can be read on {n} of {len(speeds)} pages")
    if alike is not None and n_done >= ALIKE_LEAST_PAGES and alike >= ALIKE_SHARE:
        flags.append(f"all responses alike on {n_alike} of {n_done} pages")
    if share is not None and len(same) >= SAME_LEAST_RESPONSES and share >= SAME_SHARE:
        flags.append(f"one score on all criteria for {share:.0%} of responses")
    return RaterCheck(
        rater_id=rater_id,
        rater_code=code,
        n_pages=len(packets),
        n_done=n_done,
        n_scores=n_scores,
        n_scores_asked=sum(len(packet.labels) for packet in packets) * len(dimensions),
        minutes=median(minutes) if minutes else None,
        words_per_minute=max(speeds) if speeds else None,
        n_floor=n_floor,
        n_floor_seen=n_floor_seen,
        all_models_gap=gap,
        alike=alike,
        same=share,
        longest_run=longest,
        flags=tuple(flags),
    )


def _weak_is_last(summed: Mapping[str, int], hidden: Mapping[str, Hidden]) -> bool:
    weak = [label for label, one in hidden.items() if "weak" in one.source]
    return bool(weak) and summed[weak[0]] <= min(summed.values())


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
