"""The report of the Samaritan audit as text of at most 80 columns."""

from __future__ import annotations

from ...aggregation.estimate import Estimate
from ...formats import listed
from ...number import cell, heading, item, plain, probability, show, table
from .figures import Baseline, GroupFigures, Repeatability, SamaritanFigures

_MOST_PAIRS = 30
_MOST_TARGETS = 4
_LABEL = 24
ALL = "all models"


def lines(figures: SamaritanFigures) -> list[str]:
    """The report."""
    found: list[str] = []
    for target in dict.fromkeys(group.target for group in figures.groups):
        found += _bias(figures, target)
    found += _legend(figures)
    found += _baselines(figures)
    targets = list(dict.fromkeys(group.target for group in figures.groups))
    # With many models their mean is enough to read; the page has each.
    for target in targets if len(targets) <= _MOST_TARGETS else [""]:
        found += _brittleness(figures, target)
    found += _phrasings(figures)
    found += _pairs(figures)
    return found + _repeatability(figures)


def short_verdict(group: GroupFigures, margin: float) -> str:
    """The verdict in at most twelve characters."""
    return {
        "differs within margin": f"within ±{margin:g}",
        "equivalent": "equivalent",
        "differs": "differs",
        "undecided": "undecided",
        "undefined": "–",
    }[group.verdict]


def small(number: Estimate) -> str:
    """A p-value for a table."""
    if not number.is_defined:
        return "–"
    return "<.0001" if number.value < 0.0001 else f"{number.value:.4f}".removeprefix("0")


def _of(figures: SamaritanFigures, target: str) -> list[GroupFigures]:
    return [group for group in figures.groups if group.target == target]


def _name(figures: SamaritanFigures, key: str) -> str:
    return figures.labels.get(key, key)


def _bias(figures: SamaritanFigures, target: str) -> list[str]:
    found = heading(f"Helpfulness rating and bias: {target or ALL}")
    for control in figures.controls:
        if control.target == target:
            found += item(f"Control, “{control.phrase}”", show(control.rating, digits=2))
    for category in dict.fromkeys(group.category for group in figures.groups):
        rows = [
            [
                group.label[:_LABEL],
                plain(group.rating.value, 2),
                cell(group.bias),
                small(group.p_t),
                small(group.p_adjusted_holm),
                short_verdict(group, figures.margin),
            ]
            for group in _of(figures, target)
            if group.category == category
        ]
        head = [_name(figures, category), "rating", "bias", "t", "Holm", "verdict"]
        found += ["", *table(head, rows)]
    return found


def _legend(figures: SamaritanFigures) -> list[str]:
    return [
        "",
        *_wrapped(
            "rating: mean over rephrasings, then over scenarios. bias: group minus control, 95% "
            "interval over scenarios. t: the paper's paired t-test, uncorrected. Holm: sign flips "
            "of scenarios with a t freed of skewness (Hall), which a few scenarios with a large "
            "bias do not mislead, corrected over all groups of all models; plain sign flips stand "
            "on the page and in audit.json."
        ),
        *_wrapped(
            f"verdict: differs by the corrected test; equivalent, where the bias is shown to be "
            f"within ±{figures.margin:g} points of 0 (two one-sided tests, Holm over the groups of "
            f"a category); within ±{figures.margin:g}, where both hold; undecided, where neither."
        ),
    ]


def _baselines(figures: SamaritanFigures) -> list[str]:
    found = heading("Baseline identity: which group is rated like the control")
    for target in dict.fromkeys(one.target for one in figures.baselines):
        found += item("", f"{target or ALL}:")
        for one in figures.baselines:
            if one.target == target:
                found += item(one.label, baseline_text(figures, one), indent=4)
    return found + _wrapped(
        "Shown by equivalence. The paper's rule takes every group without a significant t-test; "
        "with few scenarios or noisy ratings that names groups that differ."
    )


def baseline_text(figures: SamaritanFigures, one: Baseline) -> str:
    """The baseline in words."""

    def named(groups: tuple[str, ...]) -> str:
        return listed([_name(figures, f"{one.category}.{group}") for group in groups]) or "none"

    parts = [f"shown: {named(one.equivalent)}"]
    if one.undecided:
        parts.append(f"undecided: {named(one.undecided)}")
    if one.nearest:
        parts.append(f"nearest: {named((one.nearest,))}")
    parts.append(f"by the paper's rule: {named(one.not_significant)}")
    return "; ".join(parts)


def _brittleness(figures: SamaritanFigures, target: str) -> list[str]:
    found = heading(f"Brittleness, and answers with a rating: {target or ALL}")
    rows = [
        ["Control", cell(control.brittleness), "", plain(control.answered.value, 2)]
        for control in figures.controls
        if control.target == target
    ]
    rows += [
        [
            group.label[:_LABEL],
            cell(group.brittleness),
            cell(group.brittleness_change),
            plain(group.answered.value, 2),
        ]
        for group in _of(figures, target)
    ]
    found += table(["", "brittleness", "minus control", "rated"], rows)
    text = "brittleness: mean over scenarios of the standard deviation over rephrasings."
    if not figures.crossed:
        text += " In rotation it contains what a group's phrasings do; the control has one."
    return found + _wrapped(text)


def _phrasings(figures: SamaritanFigures) -> list[str]:
    last = figures.groups[-1].target if figures.groups else ""
    rows = [
        [one.phrasing, cell(one.bias), str(one.bias.n)]
        for group in _of(figures, last)
        for one in group.phrasings
    ]
    if not rows:
        return []
    return heading(f"Bias by phrasing: {last or ALL}") + table(["", "bias", "scenarios"], rows)


def _pairs(figures: SamaritanFigures) -> list[str]:
    if not figures.pairs:
        return []
    found = heading("Do the models differ in bias?")
    ordered = sorted(
        figures.pairs,
        key=lambda pair: pair.p_adjusted_holm.value if pair.p_adjusted_holm.is_defined else 2.0,
    )
    rows = [
        [
            f"{pair.a} – {pair.b}",
            _name(figures, f"{pair.category}.{pair.group}")[:_LABEL],
            cell(pair.difference),
            small(pair.p_adjusted_holm),
        ]
        for pair in ordered[:_MOST_PAIRS]
    ]
    found += table(["models", "group", "difference", "Holm"], rows)
    if len(ordered) > _MOST_PAIRS:
        found += _wrapped(f"{len(ordered) - _MOST_PAIRS} more stand in audit.json.")
    return found


def _repeatability(figures: SamaritanFigures) -> list[str]:
    found = heading("Repeatability")
    if not figures.repeatability:
        return [*found, *_wrapped("Not measured: every prompt was asked once (--repeats).")]
    for one in figures.repeatability:
        found += item("", f"{one.target}:")
        found += item("re-asking, standard deviation", show(one.retest_sd, digits=2), indent=4)
        found += item("prompts rated alike in every run", show(one.same, digits=2), indent=4)
        found += item("noise floor of a group's mean", show(one.noise_floor, digits=2), indent=4)
        found += item(
            "brittleness beyond re-asking", show(one.brittleness_beyond, digits=2), indent=4
        )
        found += _runs(figures, one)
    return found


def _runs(figures: SamaritanFigures, one: Repeatability) -> list[str]:
    rows = [
        [
            _name(figures, group.key)[:_LABEL],
            " ".join(plain(value, 2) for value in group.ratings[:4]),
            plain(group.gap.value, 2),
            cell(group.change),
            small(group.p_t),
        ]
        for group in one.groups
    ]
    found = table(["group", "runs", "gap", "2nd - 1st", "t"], rows)
    known = [group for group in one.groups if group.gap.is_defined]
    if known:
        most = max(known, key=lambda group: group.gap.value)
        found += _wrapped(
            f"Largest gap: {plain(most.gap.value, 2)} ({_name(figures, most.key)}); "
            f"{probability(most.p_t)}."
        )
    return found


def _wrapped(text: str) -> list[str]:
    return item("", text)
