"""What a panel is worth: the tables and the picture of that page, for any judgments and people.

    python examples/protocol/panel_worth.py JUDGMENTS PEOPLE                  prints the tables
    python examples/protocol/panel_worth.py JUDGMENTS PEOPLE --page PAGE.md   puts them into PAGE.md

JUDGMENTS is a run folder or a table of stored judgments, PEOPLE a file of human ratings. Everything
but the draws of judges is read from the estimates that `calibrate`, `judges` and the run hold.
"""

from __future__ import annotations

import argparse
import itertools
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import areopagus
from areopagus import Run
from areopagus.aggregation.kendall import kendall_tau_b
from areopagus.aggregation.one_more_person import ratings_beside_one_person
from areopagus.calibration.panel_scores import mean_over_judges
from areopagus.calibration.reading import Texts, panel_dataset
from areopagus.reports.charts import draw, save
from areopagus.reports.document import Chart

SEED, DRAWS = 0, 60
COMPONENTS = {
    "r:q": "stories of one prompt", "P": "wording (or persona)", "M": "model",
    "PM": "wording x model", "rP": "story x wording", "rM": "story x model",
    "qP": "prompt x wording", "qM": "prompt x model", "residual": "what is left",
}  # fmt: skip

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

Rows = list[list[str]]


def signed(value: float) -> str:
    """The number with its sign, two decimals."""
    return f"{value:+.2f}".replace("-", "−")


def plain(value: float) -> str:
    """The number with two decimals."""
    return f"{value:.2f}".replace("-", "−") if np.isfinite(value) else "–"


def limits(row: Any) -> str:
    """An estimate with its interval, where it has one."""
    if not np.isfinite(row.low):
        return plain(row.value)
    return f"{plain(row.value)} [{plain(row.low)}, {plain(row.high)}]"


def mean_of(respondent: Any) -> str:
    """A respondent's mean with its interval."""
    if respondent.composite is None:
        return "not scored"
    low, high = respondent.interval or (np.nan, np.nan)
    return f"{plain(respondent.composite)} [{plain(low)}, {plain(high)}]"


def table(head: Sequence[str], rows: Rows) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


class Study:
    """Judgments beside people's ratings, and what the project's commands say of them."""

    def __init__(self, judgments: Path, people: Path, work: Path) -> None:
        """Computes everything once; `work` takes the run folders."""
        is_run = judgments.is_dir()
        self.run = Run(judgments) if is_run else Run.from_judgments(judgments, work / "run")
        self.calibration = areopagus.calibrate(judgments, people).estimates
        self.biases = areopagus.examine_judges(self.run, out=work / "judges").estimates
        data, _, _ = panel_dataset(judgments, people, texts=Texts())
        if data.panel is None:
            raise SystemExit(f"{judgments} holds no scores")
        self.panel, self.ratings = data.panel, data.ratings

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

    def agreement_of(self, members: Sequence[tuple[int, int]]) -> float:
        """Agreement of some judges' mean with each person: Somers' d, mean over criteria.

        Args:
            members: persona and model of each judge.
        """
        found = []
        for ratings in self.ratings:
            if ratings.criterion not in self.settled:
                continue
            scores = self.panel.by_judge(ratings.criterion)
            chosen = np.stack([scores[:, p, m] for p, m in members], axis=1)
            beside, _ = ratings_beside_one_person(ratings, mean_over_judges(chosen).score)
            found.append(beside.of_scores.value)
        return float(np.mean(found))

    @property
    def settled(self) -> list[str]:
        """Criteria on which people are shown to agree: there the panel can be held against them."""
        frame = self.of("one person", "tau_of_one")
        return [str(row.criterion) for row in frame.itertuples() if row.low > 0]

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
            verdict = gap.verdict if name in self.settled else "people do not agree"
            span = f"{signed(gap.value)} [{signed(gap.low)}, {signed(gap.high)}]"
            rows.append([name, plain(one.value), plain(panel.value), span, plain(ceiling.value),
                         str(verdict)])  # fmt: skip
        return table(["criterion", "one more person", "panel", "gap", "ceiling", "the panel is"],
                     rows)  # fmt: skip

    def sets(self) -> Iterator[tuple[str, list[list[tuple[int, int]]]]]:
        """Sets of judges to compare: their name, and each set as (persona, model) pairs."""
        n_personas, n_models, _ = self.panel.shape
        everyone = list(itertools.product(range(n_personas), range(n_models)))
        rng = np.random.default_rng(SEED)
        yield "one judge", [[one] for one in everyone]
        if n_personas > 1:
            name = f"{n_personas} wordings of one model"
            yield name, [[(p, m) for p in range(n_personas)] for m in range(n_models)]
        if n_models > 1:
            name = f"{n_models} models, one wording"
            yield name, [[(p, m) for m in range(n_models)] for p in range(n_personas)]
        for n in (2, 3, 5, 10, 20):
            if n < len(everyone):
                draws = [rng.choice(len(everyone), n, replace=False) for _ in range(DRAWS)]
                yield f"{n} drawn at random", [[everyone[k] for k in draw] for draw in draws]
        yield f"all {len(everyone)}", [everyone]

    def subsets(self) -> tuple[str, dict[str, tuple[int, float, float, float]]]:
        """Agreement with people by the judges that are asked."""
        found: dict[str, tuple[int, float, float, float]] = {}
        rows = []
        for name, sets in self.sets():
            values = np.array([self.agreement_of(members) for members in sets])
            lowest, highest = np.quantile(values, (0.05, 0.95)) if len(sets) > 20 else (
                values.min(), values.max())  # fmt: skip
            found[name] = len(sets[0]), float(values.mean()), float(lowest), float(highest)
            span = f"{plain(lowest)} to {plain(highest)}" if len(sets) > 1 else ""
            rows.append([name, str(len(sets[0])), plain(float(values.mean())), span])
        head = ["judges", "judgments a response", "agreement with a person", "range of the sets"]
        return table(head, rows), found

    def judges(self) -> str:
        """Agreement of each single judge with a person: a row a model, a column a persona."""
        rows = [
            [model, *(plain(self.agreement_of([(p, m)])) for p in range(len(self.panel.personas)))]
            for m, model in enumerate(self.panel.models)
        ]
        return table(["judge", *self.panel.personas], rows)

    def components(self) -> str:
        """Shares of the variance of single scores, and what the judges are worth."""
        frame = self.of("components", "variance").set_index("group")["value"].clip(lower=0)
        total = frame.sum()
        rows = [[COMPONENTS[str(name)], f"{100 * value / total:.0f}%"]
                for name, value in frame.items() if str(name) in COMPONENTS]  # fmt: skip
        worth = self.run.estimates.query("table == 'worth'").iloc[0]
        sentence = (
            f"{worth.n:.0f} judgments of a response are worth {worth.value:.1f} independent ones."
        )
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
            means.append((one.composite, other.composite))
            rows.append([one.respondent_id, *map(mean_of, (one, other))])
        tau = kendall_tau_b(*np.array(means).T)
        head = ["respondent", "panel, mean of the criteria", "people, mean of the criteria"]
        return table(head, rows) + f"\n\nKendall's tau of the two orders: {plain(tau)}."

    def bias_rows(self) -> str:
        """Biases that stored scores show."""
        frame = self.biases
        rows = []
        for row in frame[
            (frame["table"] == "biases") & (frame["measure"] == "effect")
        ].itertuples():
            if np.isfinite(row.value) and row.group in BIASES:
                span = f"{signed(row.value)} [{signed(row.low)}, {signed(row.high)}]"
                rows.append([BIASES[row.group], span])
        for kind, label in PAIRS.items():
            for criterion in self.settled:
                chosen = self.of("pair types", "accuracy", group=kind, criterion=criterion)
                if len(chosen) and np.isfinite(chosen.iloc[0].value):
                    rows.append([f"{label}, {criterion}", limits(chosen.iloc[0])])
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
