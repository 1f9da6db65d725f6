"""The tables of a calibration and of an agreement, declared: views of the estimates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ..reports.document import Table
from ..reports.views import Measure, estimates_table
from .people import ITEMS

if TYPE_CHECKING:
    import pandas as pd

_CRITERION: Final = {"criterion": "criterion", "detail": "given as"}
_RANK_AND_SCORE: Final[Mapping[str, Mapping[str | None, str]]] = {
    "detail": {"rank": "ranks", "score": "scores"}
}


@dataclass(frozen=True, slots=True)
class CalibrationTable:
    """One table.

    Attributes:
        of: the table of estimates.
        measures: its columns, "; " between them: a measure, how it is shown, and "= title" where
            the title is not its name. Shown as an estimate, or by a field of it (value, p,
            p_adjusted, verdict; holds is a verdict by another name), as a count (#) or a
            share (%); with .3 decimals, and signed (+).
        caption: may have fields, which `shown` fills in.
        keys, where, named, label, is_short: as in `estimates_table`.
    """

    of: str
    measures: str
    caption: str
    keys: Mapping[str, str] = field(default_factory=lambda: _CRITERION)
    where: Mapping[str, str | None] = field(default_factory=dict)
    named: Mapping[str, Mapping[str | None, str]] = field(default_factory=dict)
    label: str = ""
    is_short: bool = False

    def shown(self, estimates: pd.DataFrame, /, **fields: Any) -> Table | None:
        """The table of these estimates; None where there are none of it.

        Args:
            estimates: all, or those rows that are wanted.
            fields: of the caption.
        """
        return estimates_table(
            estimates, self.of, keys=self.keys, caption=self.caption.format(**fields),
            measures=[_measure(one) for one in self.measures.split("; ")], where=self.where,
            label=self.label, named={**_RANK_AND_SCORE, **self.named}, is_short=self.is_short,
        )  # fmt: skip


PANEL_IS: Final = {
    "disagrees": "disagreeing", "few": "undecided", "noise": "undecided", "undefined": "undecided",
}  # fmt: skip
"""How the verdict on a panel is printed, where it is not in its own words."""

_CALLED: Final = {"holds": {"random": "yes"}}


def _measure(declared: str) -> Measure:
    left, _, title = declared.partition(" = ")
    name, *marks = left.split()
    given: dict[str, Any] = {}
    for mark in marks:
        if mark == "+":
            given["is_signed"] = True
        elif mark.startswith("."):
            given["digits"] = int(mark[1:])
        elif mark in _CALLED:
            given |= {"field": "verdict", "called": _CALLED[mark]}
        elif mark in ("#", "%"):
            given |= {"field": "value", "is_count": mark == "#", "is_percent": mark == "%"}
        else:
            given["field"] = mark
    return Measure(name, title, **given)


_HOLM = "p_adjusted = p (Holm)"
_SIZES = "personas #; models #; repeats #; calls #"

PEOPLE_IN_SHORT: Final = tuple(
    CalibrationTable(
        "people",
        f"tau = tau of two; alpha_{level} value = alpha; "
        "mean_worth value = reliability of the mean",
        f"Tau-b of two raters within prompts; {level} alpha; reliability of the mean of a "
        "response's raters (by Spearman and Brown from alpha).",
        where={"detail": kind},
    )
    for kind, level in (("score", "interval"), ("rank", "ordinal"))
)

UNNAMED_IN_SHORT: Final = CalibrationTable(
    "people",
    "tau = tau of two; icc_one_way = ICC(1); icc_one_way_mean value = ICC of the mean",
    "Tau-b of two ratings within prompts; ICC of one rating over all responses, one-way; ICC of "
    "the mean of a response's ratings.",
)

PEOPLE: Final = (
    CalibrationTable(
        "people",
        "n_raters # = raters; n_prompts # = prompts; n_responses # = responses; "
        "n_ratings # = ratings",
        "What there is of each criterion.",
        is_short=True,
    ),
    CalibrationTable(
        "people",
        "tau = tau of two; alpha_interval = alpha, interval; alpha_ordinal = alpha, ordinal; "
        "ac2 = AC2; mean_worth = reliability of the mean",
        "Order: tau of pairs of raters, within prompts. Level: Krippendorff's alpha over all "
        "responses (0 is chance, 1 full agreement). AC2 stays high where one value prevails: alpha "
        "near 0 beside a high AC2 means that nearly everybody gives the same value. Reliability of "
        "the mean of a response's raters, by Spearman and Brown from alpha.",
    ),
    CalibrationTable(
        "people",
        "icc_one_way = ICC(1); icc_one_way_mean = ICC(1,m)",
        "Unnamed raters: one-way agreement over responses of one rating, and of the mean of a "
        "response's ratings. Differences in strictness count as error, differences between prompts "
        "as agreement.",
    ),
)

_COMPARED: Final = {"criterion": "criterion"}

PREFERENCES_IN_SHORT: Final = CalibrationTable(
    "preferences",
    "n_pairs # = pairs; equal value = equal; kappa = beyond chance",
    "Pairs of responses that people compared: share of equal preferences of two raters, and the "
    "same beyond chance.",
    _COMPARED,
)

PREFERENCES: Final = CalibrationTable(
    "preferences",
    "n_preferences # = preferences; n_ties # = ties; n_pairs # = pairs; "
    "n_shared # = of two raters; equal = equal preferences; kappa = beyond chance",
    "Share of equal preferences of two raters on one pair (a tie is equal to a tie), and the same "
    "beyond chance: (share − e)/(1 − e), e for the share of ties that there is and sides that are "
    "equally likely.",
    _COMPARED,
)

PREFERENCES_PANEL: Final = CalibrationTable(
    "preferences",
    "n_decided # = decided; n_panel_ties # = panel ties; accuracy; "
    "ceiling; accuracy_of_panel = panel, same pairs; accuracy_of_one = one person; "
    "accuracy_difference + = difference",
    "Accuracy: decided preferences that the panel orders alike, its ties one half, chance .50. The "
    "ceiling is the most that a judge could reach against these single preferences, where all "
    "pairs are equally hard. On pairs of two raters or more, each rater and the panel are compared "
    "with each other rater.",
    _COMPARED,
)

PREFERENCES_JUDGES: Final = CalibrationTable(
    "preferences of judges",
    "n_decided # = decided; n_ties # = ties; accuracy; accuracy verdict = called",
    "Single judges on people's decided preferences, ties one half.",
    {"group": "judge", **_COMPARED},
)

WORTHS: Final = CalibrationTable(
    "worths",
    "win_share = pairs won; worth + = log worth",
    "Respondents on the same prompts: pairs won, ties one half, and log worth by Bradley, Terry "
    "and Davidson, mean 0 (a difference of 1 is odds of 2.7), with intervals over prompts.",
    {"respondent": "respondent", **_COMPARED},
)

RATERS: Final = CalibrationTable(
    "raters",
    f"deviation +; deviation {_HOLM}; deviation verdict = called",
    "Points from the other usual raters on the same responses. Named after Holm's correction.",
    {"rater": "rater", **_CRITERION},
)

CALIBRATION_ITEMS: Final = CalibrationTable(
    ITEMS,
    "n_raters # = raters; n_responses # = responses; lowest verdict = lowest; "
    "floor_last value = weak one last; n_tied # = tied all; "
    "gap_to_standard value + = models here less elsewhere",
    "Did raters put the response last that was made weak on purpose (share of those who put "
    "anything before anything)? What do they make of packets by models alone?",
    {"item": "prompt", "group": "kind", **_CRITERION},
)

PANEL: Final = CalibrationTable(
    "panel",
    "n_responses # = responses; tau; ceiling; above_ceiling + = above ceiling; "
    "tau_of_plain_means value = tau, plain means",
    "Tau-b {where} of the panel with the mean of people, the ceiling, and tau less the ceiling: "
    "the panel is above it where that interval is. Plain means: without the additive fit.",
)

PAIR_TYPES: Final = CalibrationTable(
    "pair types",
    "n_pairs # = n; accuracy = panel; source_only; length_only",
    "Pairs ordered as people do, by where the two responses come from. The source-only judge "
    "{preferred}, the length-only judge the longer response: what the panel is above them is more "
    "than recognition.",
    {"group": "pairs"},
)

BEYOND: Final = CalibrationTable(
    "panel",
    "beyond_source + = panel less source-only judge; "
    "beyond_length + = panel less length-only judge",
    "Pairs ordered as people do, less judges that look at one thing only.",
)

ONE_PERSON: Final = CalibrationTable(
    "one person",
    "tau_of_one = one person; tau_of_panel = panel; ceiling; tau_difference + = difference",
    "Each rater, and the panel, is compared with {others}, by tau {where} in which a tie is no "
    "order (Somers' d). Difference: panel less person.",
    where={"rater": None},
)

EACH_PERSON: Final = CalibrationTable(
    "one person",
    "tau_of_one = rater; tau_of_panel = panel",
    "Tau {where} with {others}, {criterion}.",
    {"rater": "rater"},
    is_short=True,
)


def judge_table(kind: str) -> CalibrationTable:
    """How judges, personas, models or axes agree with people, and how harsh they are."""
    return CalibrationTable(
        "judges",
        "n_scored # = scored; accuracy = pairs as people; cross = cross pairs; "
        "within = within source; severity +; without .3 + = without it; accuracy verdict = called",
        f"By {kind}. Pairs ordered as people do, all, and those of two sources or of one; "
        "severity: points above the panel; without it: change of the panel's share of pairs when "
        "it is left out (above 0 the panel agrees better without it).",
        {"group": kind},
        {"factor": kind},
        label=f"By {kind}",
    )


COMPONENTS: Final = CalibrationTable(
    "components",
    "n_levels # = levels; variance .3; variance verdict = note",
    "Variance components of {judgments}{sample}, with {level} intervals over prompts. In "
    "simulations intervals of 95% covered .914 to .956 at 9 prompts, .939 to .950 at 26. Facets of "
    "fewer than five levels are hardly known.",
    {"group": "component"},
    named={
        "group": {
            "q": "prompts", "r:q": "responses within prompts", "P": "personas", "M": "models",
            "PM": "personas x models", "qP": "prompts x personas", "qM": "prompts x models",
            "rP": "responses x personas", "rM": "responses x models",
            "rPM": "responses x personas x models",
        }
    },
)  # fmt: skip

DESIGNS: Final = CalibrationTable(
    "designs",
    f"{_SIZES}; e_rho2 value .3 = reliability; standard_error value .3",
    "Best design for each budget of calls a response: expected reliability of the order of "
    "{order}, and the standard error of a mean in points. areopagus score --plan takes a panel by "
    "it.",
    {"group": "budget"},
)

DESIGNS_NEEDED: Final = CalibrationTable(
    "designs needed",
    f"{_SIZES}; calls verdict = note",
    "Fewest calls a response for a standard error in points: of the order of {order}, or of the "
    "level of a score. A dash: no design that was looked at.",
    {"detail": "for the", "group": "standard error"},
)

WEIGHTS: Final = CalibrationTable(
    "weights",
    f"agreement value .3 = out of fold; gain value .3 +; gain {_HOLM}; agreement verdict = verdict",
    "Agreement with people by way of weighting judges (Somers' d within prompts), and the gain "
    "over equal weights, out of fold: weights are adopted where it is above 0 with p below .05.",
    {"group": "weights"},
    named={"group": {"best_single": "best single"}},
    label="Weights",
)

MAPS: Final = CalibrationTable(
    "maps",
    f"error value; gain value .3 + = gain over simpler; gain {_HOLM}; "
    "gain_over_mean value .3 + = over the mean; gain_over_mean p = p; error verdict = verdict",
    "Root mean squared error against people's means, out of fold; how much squared error falls "
    "against the simpler way of telling people's level, and against people's mean given to every "
    "response: a map must gain over both.",
    {"group": "map"},
    named={"group": {"mean": "people's mean"}},
    label="Maps",
)

ALT_TEST: Final = CalibrationTable(
    "alt-test",
    "winning_rate value; winning_rate verdict = verdict; power value; epsilon value",
    "Winning rate: share of raters whom the panel may replace, being as close to the others as "
    "they are, epsilon allowed for what a human costs; the panel passes from .5 on; uninformative "
    "where a constant or a random judge passes as well. Power: of a judge as good as one human.",
    {"detail": "form"},
    named={"detail": {None: ""}},
)

_LABELS: Final = {"criterion": "criterion"}

LABEL_PEOPLE: Final = CalibrationTable(
    "label people",
    "n_raters # = raters; n_items # = responses; n_labels # = labels; agreement = say the same; "
    "alpha",
    "Labels of people: how often two people of a response say the same, and that beyond chance "
    "(Krippendorff's nominal alpha). Intervals over prompts.",
    _LABELS,
    label="Labels of people",
)

LABEL_AGREEMENT: Final = CalibrationTable(
    "labels",
    "n_both n_of = labelled by both; accuracy; kappa; auc = AUC; cut value = cut",
    "The panel against a person drawn at random from those who labelled a response. AUC: pairs of "
    "responses with different labels that the panel's scores order likewise, .50 by chance.",
    _LABELS,
    label="Panel with people, labels",
)

LABEL_ONE_PERSON: Final = CalibrationTable(
    "label one person",
    "of_one = one person; of_machine = panel; difference +",
    "Kappa: each person is left out in turn; person and panel are both compared with the "
    "response's other people.",
    _LABELS,
    label="One more person, labels",
)

LABEL_CATEGORIES: Final = CalibrationTable(
    "label categories",
    "n_people value .1 = by people; n_panel value .1 = by the panel; recall; precision",
    "By label: responses that people and the panel gave it (a response of several people is "
    "divided), the share of people's that the panel gives too (of a yes the sensitivity, of a no "
    "the specificity), and of the panel's that people give too.",
    {**_LABELS, "group": "label"},
    label="By label",
)

LABEL_RATES: Final = CalibrationTable(
    "label rates",
    "raw = by the panel; corrected; corrected holds = holds; n_checked n_of = labelled",
    "Share of each label over all responses of the panel, and what people would find: their share "
    "within each label of the panel, weighted by all its labels. It holds where the labelled "
    "responses are a random sample of all.",
    {**_LABELS, "group": "label"},
    label="Rates, corrected",
)
