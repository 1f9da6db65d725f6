"""What a panel is worth: the tables and the picture of that page, for any judgments and people.

    python examples/protocol/panel_worth.py JUDGMENTS PEOPLE                  prints the tables
    python examples/protocol/panel_worth.py JUDGMENTS PEOPLE --page PAGE.md   writes them into PAGE

JUDGMENTS is a run folder or a table of stored judgments, PEOPLE a file of human ratings. Everything
but the draws of judges is read from the estimates that `calibrate`, `judges` and the run hold.
"""

from __future__ import annotations

import argparse
import itertools
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import areopagus
from areopagus import InputError, Run
from areopagus.aggregation.kendall import kendall_tau_b
from areopagus.aggregation.one_more_person import ratings_beside_one_person
from areopagus.calibration.panel_scores import mean_over_judges
from areopagus.calibration.reading import Texts, panel_dataset
from areopagus.reports.charts import draw, save
from areopagus.reports.document import Chart
from areopagus.run import RespondentMean

SEED, DRAWS = 0, 60
COMPONENTS = {
    "q": "prompts", "r:q": "stories of one prompt", "P": "{0}", "M": "model", "PM": "{0} x model",
    "qP": "prompt x {0}", "qM": "prompt x model", "rP": "story x {0}", "rM": "story x model",
    "rPM": "story x {0} x model", "residual": "what is left",
}  # fmt: skip
"""Parts of the variance of scores; {0} is what tells the judges of one model apart."""
ASKED_AGAIN = "the same judge, asked again"
"""What is left where judges were asked more than once."""

BIASES = {
    "own_family": "points for responses of the judge's own family",
    "length": "points for twice the length",
    "halo": "halo: correlation among a judge's criteria beyond what others see",
}
PAIRS = {
    "cross": "right about a person's response against a model's",
    "model-model": "right about two models' responses",
}
"""Kinds of pairs of responses, on which people and the panel may order alike: .5 is chance."""

NOT_SHOWN = "People are not shown to agree on any criterion: no panel can be measured by them."

Rows = list[list[str]]
Member = tuple[int, int, int]
"""A judgment: places of its persona, its model and its repeat."""


def signed(value: float) -> str:
    """The number with its sign, two decimals."""
    return f"{value:+.2f}".replace("-", "−") if np.isfinite(value) else "–"


def plain(value: float) -> str:
    """The number with two decimals."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−") if np.isfinite(value) else "–"


def limits(row: Any, form: Callable[[float], str] = plain) -> str:
    """An estimate with its interval, where it has one."""
    if not np.isfinite(row.low):
        return form(row.value)
    return f"{form(row.value)} [{form(row.low)}, {form(row.high)}]"


def mean_of(respondent: RespondentMean) -> str:
    """A respondent's mean with its interval, where it has one."""
    mean = plain(np.nan if respondent.composite is None else respondent.composite)
    if respondent.interval is None:
        return mean
    low, high = respondent.interval
    return f"{mean} [{plain(low)}, {plain(high)}]"


def table(head: Sequence[str], rows: Rows) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


class Study:
    """Judgments beside people's ratings, and what the project's commands say of them."""

    def __init__(self, judgments: Path, people: Path, work: Path) -> None:
        """Computes everything once; `work` takes the run folders."""
        is_run = judgments.is_dir()
        self.noun = "persona" if is_run else "wording"
        self.run = Run(judgments) if is_run else Run.from_judgments(judgments, work / "run")
        self.calibration = areopagus.calibrate(judgments, people).estimates
        self.biases = areopagus.examine_judges(self.run, out=work / "judges").estimates
        self.data = panel_dataset(judgments, people, texts=Texts())[0]
        if self.data.panel is None:
            raise InputError(f"{judgments}: holds no scores of judges")
        self.panel = self.data.panel

    def of(self, table: str, measure: str, **keys: str) -> pd.DataFrame:
        """Rows of the calibration's estimates."""
        frame = self.calibration
        chosen = (frame["table"] == table) & (frame["measure"] == measure)
        for name, value in keys.items():
            chosen &= frame[name] == value
        return frame[chosen]

    def criteria(self) -> list[str]:
        """The criteria on which people are compared with the panel."""
        return [str(name) for name in self.of("one person", "tau_of_one")["criterion"]]

    def agreement_of(self, members: Sequence[Member]) -> float:
        """Agreement of some judgments' mean with each person: Somers' d, mean over criteria.

        Args:
            members: the judgments; none is twice among them.
        """
        found = []
        for ratings in self.data.ratings:
            if ratings.criterion not in self.settled:
                continue
            scores = self.panel.scores[..., self.panel.criteria.index(ratings.criterion)]
            chosen = np.stack([scores[:, *member] for member in members], axis=1)
            beside, _ = ratings_beside_one_person(ratings, mean_over_judges(chosen).score)
            found.append(beside.of_scores.value)
        return float(np.mean(found)) if found else float("nan")

    @property
    def settled(self) -> list[str]:
        """Criteria on which people are shown to agree: there the panel can be held against them."""
        frame = self.of("one person", "tau_of_one")
        names = [str(row.criterion) for row in frame.itertuples() if row.low > 0]
        return [name for name in names if name in self.panel.criteria]  # not the composite

    def mean_of_people(self, measure: str) -> float:
        """A figure of one more person, mean over the criteria on which people agree."""
        frame = self.of("one person", measure)
        return float(frame[frame["criterion"].isin(self.settled)]["value"].mean())

    def answer(self, found: dict[str, tuple[int, float, float, float]]) -> str:
        """The figures that the page is about, in a sentence."""
        if not self.settled:
            return NOT_SHOWN
        means = {name: mean for name, (_, mean, _, _) in found.items() if "drawn" not in name}
        means["one more person"] = self.mean_of_people("tau_of_one")
        figures = "; ".join(f"{plain(mean)} for {name}" for name, mean in means.items())
        return f"Agreement with a person (mean over {', '.join(self.settled)}): {figures}."

    def people(self) -> str:
        """Agreement of people with each other."""
        rows = []
        for row in self.of("people", "icc_one_way").itertuples():
            mean = self.of("people", "mean_worth", criterion=row.criterion).iloc[0]
            tau = self.of("people", "tau", criterion=row.criterion).iloc[0]
            rows.append([row.criterion, limits(row), plain(mean.value), limits(tau)])
        n = int(self.of("people", "raters_a_response").iloc[0].value)
        return table(["criterion", "ICC of one rating", f"reliability of the mean of {n}",
                      "tau of two people within a prompt"], rows)  # fmt: skip

    def beside(self) -> str:
        """The panel beside one more person, by criterion."""
        rows = []
        for name in self.criteria():
            one, panel, gap, ceiling = (
                self.of("one person", measure, criterion=name).iloc[0]
                for measure in ("tau_of_one", "tau_of_panel", "tau_difference", "ceiling")
            )
            verdict = gap.verdict if one.low > 0 else "undecided: people are not shown to agree"
            values = (plain(one.value), plain(panel.value), limits(gap, signed))
            rows.append([name, *values, plain(ceiling.value), str(verdict)])
        return table(["criterion", "one more person", "panel", "gap", "ceiling", "the panel is"],
                     rows)  # fmt: skip

    def sets(self) -> Iterator[tuple[str, list[list[Member]]]]:
        """Sets of judgments to compare: their name, and the sets."""
        personas, models, repeats = (range(n) for n in self.panel.shape)
        everyone = list(itertools.product(personas, models, repeats))
        rng = np.random.default_rng(SEED)
        yield "one judge", [[one] for one in everyone]
        if (n := len(repeats)) > 1:
            judges = list(itertools.product(personas, models))
            yield f"one judge asked {n} times", [[(p, m, k) for k in repeats] for p, m in judges]
            if n < len(personas):
                name = f"{n} {self.noun}s of one model"
                yield name, [[((p + i) % len(personas), m, 0) for i in range(n)] for p, m in judges]
        if len(personas) > 1:
            name = f"{len(personas)} {self.noun}s of one model"
            calls = itertools.product(models, repeats)
            yield name, [[(p, m, k) for p in personas] for m, k in calls]
        if len(models) > 1:
            name = f"{len(models)} models, one {self.noun}"
            calls = itertools.product(personas, repeats)
            yield name, [[(p, m, k) for m in models] for p, k in calls]
        for n in (2, 3, 5, 10, 20):
            if n < len(everyone):
                draws = [rng.choice(len(everyone), n, replace=False) for _ in range(DRAWS)]
                yield f"{n} drawn at random", [[everyone[k] for k in draw] for draw in draws]
        yield f"all {len(everyone)}", [everyone]

    def subsets(self) -> tuple[str, dict[str, tuple[int, float, float, float]]]:
        """Agreement with people by the judges that are asked."""
        if not self.settled:
            return NOT_SHOWN, {}
        found: dict[str, tuple[int, float, float, float]] = {}
        rows = []
        for name, sets in self.sets():
            values = np.array([self.agreement_of(members) for members in sets])
            lowest, highest = np.quantile(values, (0.05, 0.95)) if len(sets) > 20 else (
                values.min(), values.max())  # fmt: skip
            found[name] = len(sets[0]), float(values.mean()), float(lowest), float(highest)
            span = f"{plain(lowest)} to {plain(highest)}" if len(sets) > 1 else ""
            rows.append([name, str(len(sets[0])), plain(float(values.mean())), span])
        head = ["judges", "judgments a story", "agreement with a person", "range of the sets"]
        return table(head, rows), found

    def judges(self) -> str:
        """Agreement of each single judge with a person: a row a model, a column a persona."""
        rows = [
            [
                model,
                *(
                    plain(self.agreement_of([(p, m, k) for k in range(self.panel.shape[2])]))
                    for p in range(len(self.panel.personas))
                ),
            ]
            for m, model in enumerate(self.panel.models)
        ]
        return table(["judge", *self.panel.personas], rows)

    def components(self) -> str:
        """Shares of the variance of single scores."""
        frame = self.of("components", "variance").set_index("group")["value"].clip(lower=0)
        total = frame.sum()
        labels = COMPONENTS | ({"residual": ASKED_AGAIN} if self.panel.shape[2] > 1 else {})
        rows = [
            [labels[str(name)].format(self.noun), f"{100 * value / total:.0f}%"]
            for name, value in frame.items()
        ]
        worth = self.run.estimates.query("table == 'worth'").iloc[0]
        sentence = "How many independent judgments these are worth is not known."
        if np.isfinite(worth.value):
            n = f"{worth.value:.1f}"
            sentence = f"{worth.n:.0f} judgments of a response are worth {n} independent ones."
        return table(["what differs", "share of the variance"], rows) + f"\n\n{sentence}"

    def designs(self) -> str:
        """Reliability of the panel's order by the number of judges, as the D-study has it."""
        frame = self.of("designs", "e_rho2").set_index("group")["value"]
        rows = [[n, plain(frame[n])] for n in ("1", "3", "5", "10", "20", "30") if n in frame.index]
        return table(["judges", "reliability of the order of stories within a prompt"], rows)

    def correction(self) -> str:
        """What fitting the panel to people gains on prompts that were not used to fit it."""
        rows = []
        for kind, measure, labels in (
            ("weights", "agreement", {"equal": "equal weights", "shrunk": "fitted weights",
                                      "best_single": "the best single judge"}),
            ("maps", "error", {"as is": "scores as they are", "line": "a straight line"}),
        ):  # fmt: skip
            for row in self.of(kind, measure).itertuples():
                if row.group in labels:
                    figures = ["", ""]
                    figures[kind == "maps"] = plain(row.value)
                    rows.append([f"{labels[row.group]} ({row.criterion})", *figures])
        return table(["out of fold", "tau with people", "error, points (RMSE)"], rows)

    def ranking(self, people: Run) -> str:
        """Respondents by the panel and by people."""
        rows, means = [], []
        of_people = {one.respondent_id: one for one in people.respondents}
        for one in sorted(self.run.respondents, key=lambda item: -(item.composite or 0)):
            other = of_people[one.respondent_id]
            if one.composite is not None and other.composite is not None:
                means.append((one.composite, other.composite))
            rows.append([one.respondent_id, mean_of(one), mean_of(other)])
        tau = kendall_tau_b(*np.array(means).T) if len(means) > 1 else np.nan
        head = ["respondent", "panel, mean of the criteria", "people, mean of the criteria"]
        return table(head, rows) + f"\n\nKendall's tau of the two orders: {plain(tau)}."

    def bias_rows(self) -> str:
        """Biases that stored scores show."""
        frame = self.biases[
            (self.biases["table"] == "biases") & (self.biases["measure"] == "effect")
        ]
        rows = [
            [BIASES[row.group], limits(row, signed)]
            for row in frame.itertuples()
            if np.isfinite(row.value) and row.group in BIASES
        ]
        for kind, label in PAIRS.items():
            rows += [
                [f"{label}, {row.criterion}", limits(row)]
                for row in self.of("pair types", "accuracy", group=kind).itertuples()
                if np.isfinite(row.value)
            ]
        return table(["what", "estimate"], rows)


def picture(found: dict[str, tuple[int, float, float, float]], study: Study, path: Path) -> None:
    """Agreement with a person by the judges asked, beside one more person and the ceiling."""
    rows = {
        name: (mean, low, high) if high > low else (mean, np.nan, np.nan)
        for name, (_, mean, low, high) in found.items()
    }
    for label, measure in (("one more person", "tau_of_one"), ("ceiling", "ceiling")):
        frame = study.of("one person", measure)
        mine = frame[frame["criterion"].isin(study.settled)][["value", "low", "high"]].mean()
        rows[label] = mine["value"], mine["low"], mine["high"]
    values, low, high = (np.array([[row[k]] for row in rows.values()]) for k in range(3))
    chart = Chart(
        "forest",
        "panel-worth",
        "What a panel is worth",
        "Agreement with a person in ranking stories, by the judges that are asked. Bars: range of "
        "the sets of judges; 95% interval of one more person; range of the ceiling.",
        list(rows),
        values=values,
        low=low,
        high=high,
        axis="agreement with a person in ranking (Somers' d; 0 is chance)",
        reference=float(rows["one more person"][0]),
    )
    save(path, draw(chart))


def blocks(study: Study, people: Run | None, drawing: Path | None) -> dict[str, str]:
    """Every table of the page, by name."""
    subsets, found = study.subsets()
    if drawing is not None:
        picture(found, study, drawing)
    return {
        "answer": study.answer(found),
        "people": study.people(),
        "beside": study.beside(),
        "subsets": subsets,
        "judges": study.judges(),
        "components": study.components(),
        "designs": study.designs(),
        **({} if people is None else {"ranking": study.ranking(people)}),
        "biases": study.bias_rows(),
        "correction": study.correction(),
    }


def put_into(page: str, made: dict[str, str]) -> str:
    """The page with its blocks between `<!-- worth: NAME -->` and `<!-- end -->` made anew."""
    for name, text in made.items():
        block = re.compile(rf"(<!-- worth: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        page = block.sub(lambda match, text=text: f"{match[1]}{text}\n{match[2]}", page)
    return page


def main() -> None:
    """Prints the tables, or writes them into a page."""
    parser = argparse.ArgumentParser(description="What a panel is worth.")
    parser.add_argument("judgments", type=Path)
    parser.add_argument("people", type=Path)
    parser.add_argument("--page", type=Path, help="a page whose tables are made anew")
    parser.add_argument("--picture", type=Path, help="an SVG file for the picture")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        study = Study(given.judgments, given.people, Path(work))
        people = Run.from_judgments(given.people, Path(work) / "people",
                                    columns={"rater_id": "rater_place"})  # fmt: skip
        made = blocks(study, people, given.picture)
    if given.page is None:
        for name, text in made.items():
            print(f"## {name}\n\n{text}\n")
    else:
        given.page.write_text(put_into(given.page.read_text(), made))


if __name__ == "__main__":
    main()
