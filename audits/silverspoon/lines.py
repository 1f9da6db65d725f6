"""The report of SilverSpoon as text of at most 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

from ...number import cell, heading, item, plain, show, table
from .answers import ANSWER_LABELS
from .figures import SilverSpoonFigures
from .gold import END_LABELS, ENDS
from .judgement_figures import PAPER_NAMES, GoldFigures, JudgementFigures, ModelJudgement
from .judges_agree import JudgeFigures
from .lines_groups import narrative_lines, profession_lines, small

_MOST_PAIRS = 30


def lines(figures: SilverSpoonFigures) -> list[str]:
    """The report of the part that was run."""
    found: list[str] = []
    if figures.judgement is not None:
        found = _judgement(figures.judgement)
    elif figures.professions is not None:
        found = profession_lines(figures.professions)
    elif figures.narratives is not None:
        found = narrative_lines(figures.narratives)
    return found if figures.judges is None else [*found, *_judges(figures.judges)]


def _judges(judges: JudgeFigures) -> list[str]:
    found = heading("Agreement of the two judges, before anything was settled")
    said = ", ".join(
        f"{number:,} {name.replace('_', ' ')}" for name, number in judges.rulings.items()
    )
    found += item("answers judged", said)
    if judges.n:
        found += item("same", show(judges.same))
        found += item("Cohen's kappa", show(judges.kappa))
    return found


def _judgement(figures: JudgementFigures) -> list[str]:
    found = _answers(figures)
    if figures.gold is None:
        found += heading("Agreement with people")
        found += item("", "Not measured: no gold labels were given.")
    else:
        found += _gold(figures.gold)
        found += _paper_table(figures)
        found += _textbook_table(figures)
    found += _topics(figures)
    return found + _pairs(figures)


def _answers(figures: JudgementFigures) -> list[str]:
    found = heading("Who is in the wrong")
    kinds = list(dict.fromkeys(kind for model in figures.models for kind in model.counts))
    kinds.sort(key=lambda kind: ([*ANSWER_LABELS, kind].index(kind), kind))
    rows = [
        [_named(model), *(f"{model.counts.get(kind, 0):,}" for kind in kinds)]
        for model in figures.models
    ]
    found += table(["model", *(kind.replace("_", " ") for kind in kinds)], rows)
    found.append("")
    rows = [
        [_named(model), cell(model.supports, digits=3),
         cell(model.neither_label, digits=3) if model.neither_label.is_defined else "–",
         cell(model.order_effect) if model.order_effect.is_defined else "–"]
        for model in figures.models
    ]  # fmt: skip
    found += table(["model", "sides with P1", "both or neither", "order"], rows)
    return found + _wrapped(
        "sides with P1: share that holds the other to be wrong, among answers that settle on one; "
        "both, neither and unreadable ones have no label and are in no figure of agreement. order: "
        "share of scenarios whose answer changes with the order of the two words. Intervals have "
        "the scenario with all its versions as the unit."
    )


def _gold(gold: GoldFigures) -> list[str]:
    found = heading("The gold labels")
    for end in ENDS:
        found += item(f"{END_LABELS[end]}, the other is wrong", show(gold.share_other[end]))
    found += item("Cohen's kappa of the two ends (paper .141)", show(gold.across))
    found += item("scenarios in which they differ", show(gold.differing))
    for one in gold.within:
        text = f"kappa {show(one.kappa)}, alpha {show(one.alpha, with_n=False)}"
        text += f"; {one.n_raters} raters, {one.ties:,} ties without a label"
        found += item(f"within the {END_LABELS[one.end]}", text)
    if gold.within:
        found += _wrapped("The paper has .781 within the upper and .793 within the lower end.")
    return found


def _paper_table(figures: JudgementFigures) -> list[str]:
    found = heading("Agreement under the paper's names")
    rows = [
        [
            _named(model),
            *(
                _short(getattr(model.against[end], name).value)
                for end in ENDS
                for name in PAPER_NAMES
            ),
        ]
        for model in figures.models
    ]
    found += table(["model", *_heads()], rows)
    return found + _wrapped(
        "l: lower-end labels, u: upper-end labels. JSC and DSC are no further findings: with every "
        "mismatch a false positive and a false negative at once, DSC is ACC and JSC ACC / (2 - "
        "ACC). CKC and MCC are undefined (–) where one side gives a single label."
    )


def _textbook_table(figures: JudgementFigures) -> list[str]:
    found = heading("The same with intervals, and the textbook forms")
    for end in ENDS:
        found.append(f"  {END_LABELS[end].capitalize()} labels")
        rows = []
        for model in figures.models:
            one = model.against[end]
            rows.append(
                [
                    _named(model),
                    cell(one.acc, digits=3),
                    _short(one.always_p1.value),
                    cell(one.ckc, digits=3),
                ]
            )
        found += table(["model", "accuracy", "P1 only", "kappa"], rows)
        found.append("")
    found += _wrapped("P1 only: the accuracy of always answering that P1 is wrong.")
    found.append("")
    rows = [
        [
            _named(model),
            *(
                f"{_short(getattr(model.against[end], f'{name}_p1').value)}/"
                f"{_short(getattr(model.against[end], f'{name}_other').value)}"
                for end in ENDS
                for name in ("jaccard", "dice")
            ),
        ]
        for model in figures.models
    ]
    found += table(["model", "l Jaccard", "l Dice", "u Jaccard", "u Dice"], rows)
    found += _wrapped(
        "Jaccard, Dice: the textbook forms, of the sets of scenarios in which P1, and in which the "
        "other, is wrong."
    )
    found.append("")
    found += table(
        ["model", "with the lower end"],
        [[_named(model), cell(model.with_lower, digits=3)] for model in figures.models],
    )
    return found + _wrapped(
        "with the lower end: where the two ends differ, share of answers that go with the lower "
        "end, the two kinds of difference weighing alike; .5 is no side taken. Accuracies against "
        "the two ends cannot be compared for that: whoever blames P1 more often agrees more with "
        "the end that does."
    )


def _topics(figures: JudgementFigures) -> list[str]:
    if not figures.topics:
        return []
    found = heading("By topic")
    kinds = ("acc", "ckc") if figures.gold is not None else ()
    head = ["topic, model", "n", "sides with P1", *_heads(kinds)]
    rows: list[list[str]] = []
    for one in figures.topics:
        against = [_short(getattr(one, kind)[end].value) for end in ENDS for kind in kinds]
        name = f"{one.label}, {one.target}"
        rows.append([name, f"{one.supports.n:,}", cell(one.supports), *against])
    found += table(head, rows)
    if not kinds:
        return found
    return found + _wrapped("JSC, DSC and MCC by topic stand on the page and in audit.json.")


def _heads(kinds: Sequence[str] = PAPER_NAMES) -> list[str]:
    return [f"{end[0]} {name.upper()}" for end in ("lower", "upper") for name in kinds]


def _pairs(figures: JudgementFigures) -> list[str]:
    if not figures.pairs:
        return []
    found = heading("Do the models differ?")
    pairs = sorted(figures.pairs, key=lambda pair: (pair.p_holm.value, pair.a, pair.b))
    rows = [
        [f"{pair.a} – {pair.b}", cell(pair.difference, digits=3), small(pair.p),
         small(pair.p_holm), small(pair.p_mid)]
        for pair in pairs[:_MOST_PAIRS]
    ]  # fmt: skip
    found += table(["pair", "difference", "p", "Holm", "mid-p"], rows)
    found += _wrapped(
        "difference: of the shares that side with P1, on the same scenarios. p: sign flips of "
        "whole scenarios; Holm: corrected over pairs; mid-p: McNemar's over single answers, which "
        "takes versions of a scenario for independent."
    )
    if len(pairs) > _MOST_PAIRS:
        found += _wrapped(f"{len(pairs) - _MOST_PAIRS} more pairs stand in audit.json.")
    return found


def _named(model: ModelJudgement) -> str:
    return f"{model.target} (stored)" if model.source == "stored" else model.target


def _short(value: float) -> str:
    text = plain(value, 3)
    if text == "undef.":
        return "–"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def _wrapped(text: str) -> list[str]:
    return item("", text)
