"""One study with planted agreement, written in every layout that can hold it.

Four raters, eight prompts, four respondents; scores on two criteria, an order with ties, a yes or
no, and pairs. What raters share is the level of a response, with a standard deviation of 1.2; each
adds errors of .7 and .4, and rounds (1/12): one rater's reliability is 1.44 / 2.17 = .66. A layout
that can hold all is also written with some of its parts only.
"""

import csv
import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

RATERS = ("ann", "bob", "cyd", "dan")
PROMPTS = tuple(f"p{number}" for number in range(1, 9))
RESPONDENTS = ("gpt", "llama", "human", "mixtral")
LETTERS = dict(zip("ABCD", RESPONDENTS, strict=True))
CRITERIA = ("clarity", "depth")
PARTS = (*CRITERIA, "rank", "accepted")


class Given(NamedTuple):
    """What one rater said of one response."""

    rater: str
    prompt: str
    respondent: str
    clarity: int
    depth: int
    rank: int
    accepted: str

    @property
    def response(self) -> str:
        return f"{self.prompt}/{self.respondent}"


def planted(seed: int = 1) -> list[Given]:
    """Returns the study, a row a rater and response."""
    rng = random.Random(seed)
    found = []
    level = {(prompt, who): rng.gauss(4.5, 1.2) for prompt in PROMPTS for who in RESPONDENTS}
    for rater, prompt in itertools.product(RATERS, PROMPTS):
        seen = {who: level[prompt, who] + rng.gauss(0, 0.7) for who in RESPONDENTS}
        scores = {
            who: [min(7, max(1, round(value + rng.gauss(0, 0.4)))) for _ in CRITERIA]
            for who, value in seen.items()
        }
        coarse = {who: round(value) for who, value in seen.items()}
        for who in RESPONDENTS:
            rank = 1 + sum(other > coarse[who] for other in coarse.values())
            said = "yes" if seen[who] > 4.2 else "no"
            found.append(Given(rater, prompt, who, *scores[who], rank, said))
    return found


def by_row(study: list[Given]) -> dict[tuple[str, str], dict[str, Given]]:
    """Returns (rater, prompt) to respondent to what was said."""
    rows: dict[tuple[str, str], dict[str, Given]] = {}
    for one in study:
        rows.setdefault((one.rater, one.prompt), {})[one.respondent] = one
    return rows


def write(path: Path, *rows: list[Any]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def places(ranked: dict[str, int], n: int, tie: str = "=") -> list[str]:
    """Returns the cells of a ranking sheet: the names at each place."""
    return [
        tie.join(name for name, rank in ranked.items() if rank == place)
        for place in range(1, n + 1)
    ]


def judged(study: list[Given], folder: Path) -> Path:
    """Stored judgments of three judges: people's mean, with errors of 1 of a judge's own."""
    rng = random.Random(7)
    mean = {
        one.response: [other for other in study if other.response == one.response] for one in study
    }
    rows = []
    for response, said in mean.items():
        for judge in ("j1", "j2", "j3"):
            scores = [
                round(sum(getattr(one, criterion) for one in said) / len(said) + rng.gauss(0, 1))
                for criterion in CRITERIA
            ]
            rows.append([said[0].prompt, response, judge, *(min(7, max(1, x)) for x in scores)])
    return write(folder / "judged.csv", ["prompt_id", "response_id", "judge", *CRITERIA], *rows)


Written = tuple[Path, dict[str, Any]]
"""A file and the arguments with which it is read."""

Parts = tuple[str, ...]
"""Those of `PARTS` that a file holds."""


def said_of(one: Given, parts: Parts) -> list[Any]:
    return [getattr(one, part) for part in parts]


def mapped(parts: Parts) -> dict[str, Any]:
    """The criteria of a column map."""
    all_parts: dict[str, Any] = {
        "clarity": "clarity",
        "depth": "depth",
        "rank": {"criterion": "overall", "kind": "rank"},
        "accepted": {"criterion": "accepted", "kind": "label"},
    }
    return {part: all_parts[part] for part in parts}


def long(study: list[Given], folder: Path, parts: Parts = PARTS) -> Written:
    rows = [
        [one.rater, one.prompt, one.response, one.respondent, criterion, kind, value]
        for one in study
        for part, criterion, kind, value in (
            ("clarity", "clarity", "score", one.clarity),
            ("depth", "depth", "score", one.depth),
            ("rank", "overall", "rank", one.rank),
            ("accepted", "accepted", "label", one.accepted),
        )
        if part in parts
    ]
    header = ["rater_id", "prompt_id", "response_id", "source", "criterion", "kind", "value"]
    return write(folder / "long.csv", header, *rows), {}


def wide(study: list[Given], folder: Path, parts: Parts = PARTS) -> Written:
    header = ["rater_id", "prompt_id", "response_id", "system", *parts]
    rows = [
        [one.rater, one.prompt, one.response, one.respondent, *said_of(one, parts)] for one in study
    ]
    return write(folder / "wide.csv", header, *rows), {}


def by_respondent(study: list[Given], folder: Path, parts: Parts = PARTS) -> Written:
    header = ["rater", "prompt_id", *(f"{who}_{part}" for who in RESPONDENTS for part in parts)]
    rows = [
        [*key, *(getattr(of[who], part) for who in RESPONDENTS for part in parts)]
        for key, of in by_row(study).items()
    ]
    return write(folder / "respondents.csv", header, *rows), {
        "columns": {"columns_pattern": "{respondent}_{criterion}"}
    }


def by_label(study: list[Given], folder: Path, parts: Parts = PARTS) -> Written:
    """Labels are drawn anew for every rater and prompt; a key says what they stood for."""
    rng = random.Random(1)
    header = ["rater", "prompt_id"]
    header += [f"Response {letter} {part}" for letter in LETTERS for part in parts]
    rows, key = [], []
    for (rater, prompt), of in by_row(study).items():
        drawn = dict(zip(LETTERS, rng.sample(RESPONDENTS, len(RESPONDENTS)), strict=True))
        rows.append(
            [rater, prompt]
            + [getattr(of[drawn[letter]], part) for letter in LETTERS for part in parts]
        )
        key += [[rater, prompt, letter, f"{prompt}/{who}", who] for letter, who in drawn.items()]
    names = ["rater_id", "prompt_id", "blinded_label", "response_id", "source"]
    return write(folder / "labels.csv", header, *rows), {
        "source_map": write(folder / "key.csv", names, *key)
    }


def labels_in_the_row(study: list[Given], folder: Path, parts: Parts = PARTS) -> Written:
    names = ("model", *parts)
    header = ["rater", "prompt_id", *(f"{name}_{letter}" for letter in "ABCD" for name in names)]
    rows = []
    for key, of in by_row(study).items():
        row: list[Any] = [*key]
        for who in RESPONDENTS:
            row += [who, *said_of(of[who], parts)]
        rows.append(row)
    return write(folder / "named.csv", header, *rows), {}


def qualtrics(study: list[Given], folder: Path, parts: Parts = PARTS) -> Written:
    """A question an item and criterion; the items stand in a table beside the map."""
    items = list(itertools.product(PROMPTS, RESPONDENTS))
    number_of = {part: str(number) for number, part in enumerate(PARTS, start=1)}
    names = [f"Q{n}_{number_of[part]}" for n in range(1, len(items) + 1) for part in parts]
    header = ["StartDate", "Finished", "RecordedDate", "ResponseId", "PROLIFIC_PID", *names]
    rows = []
    for number, rater in enumerate(RATERS):
        said = {(one.prompt, one.respondent): one for one in study if one.rater == rater}
        cells = [value for item in items for value in said_of(said[item], parts)]
        rows.append(["2026", "True", "2026-01-01", f"R_{number}", rater, *cells])
    path = write(
        folder / "qualtrics.csv", header, header, ['{"ImportId":"x"}'] * len(header), *rows
    )
    table = [[n, *item, "/".join(item)] for n, item in enumerate(items, start=1)]
    write(folder / "items.csv", ["item", "prompt_id", "source", "response_id"], *table)
    column_map = folder / "map.yaml"
    criteria = {number_of[part]: what for part, what in mapped(parts).items()}
    column_map.write_text(
        'items: {pattern: "Q{item}_{criterion}", table: items.csv}\n'
        f"criteria: {json.dumps(criteria)}\n"
    )
    return path, {"columns": column_map}


def google_forms(study: list[Given], folder: Path, parts: Parts = PARTS) -> Written:
    items = list(itertools.product(PROMPTS, RESPONDENTS))
    titles = [f"Response {n} [{part.title()}]" for n in range(1, len(items) + 1) for part in parts]
    rows = []
    for rater in RATERS:
        said = {(one.prompt, one.respondent): one for one in study if one.rater == rater}
        cells = [getattr(said[item], part) for item in items for part in parts]
        rows.append(["1/2/2026 10:00:00", f"{rater}", *cells])
    path = write(folder / "forms.csv", ["Timestamp", "Email Address", *titles], *rows)
    table = [[n, *item, "/".join(item)] for n, item in enumerate(items, start=1)]
    write(folder / "form-items.csv", ["item", "prompt_id", "source", "response_id"], *table)
    return path, {
        "columns": {
            "items": {
                "pattern": "Response {item} [{criterion}]",
                "table": str(folder / "form-items.csv"),
            },
            "criteria": mapped(parts),
        }
    }


def limesurvey(study: list[Given], folder: Path, parts: Parts = PARTS) -> Written:
    items = list(itertools.product(PROMPTS, RESPONDENTS))
    names = [f"Q{n}[{part}]" for n in range(1, len(items) + 1) for part in parts]
    rows = []
    for rater in RATERS:
        said = {(one.prompt, one.respondent): one for one in study if one.rater == rater}
        cells = [getattr(said[item], part) for item in items for part in parts]
        rows.append([1, "2026-01-01", 9, "en", 77, rater, *cells])
    header = ["id", "submitdate", "lastpage", "startlanguage", "seed", "token", *names]
    path = write(folder / "lime.csv", header, *rows)
    table = [[n, *item, "/".join(item)] for n, item in enumerate(items, start=1)]
    write(folder / "lime-items.csv", ["item", "prompt_id", "source", "response_id"], *table)
    column_map = folder / "lime.yaml"
    column_map.write_text(
        'items: {pattern: "Q{item}[{criterion}]", table: lime-items.csv}\n'
        f"criteria: {json.dumps(mapped(parts))}\n"
    )
    return path, {"columns": column_map}


def mturk(study: list[Given], folder: Path, parts: Parts = PARTS) -> Written:
    """A HIT shows one prompt's responses; which ones they were stands in its inputs."""
    numbers = range(1, len(RESPONDENTS) + 1)
    header = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "Input.prompt_id"]
    header += [f"Input.{name}_{n}" for name in ("response_id", "source") for n in numbers]
    header += [f"Answer.q{n}_{part}" for n in numbers for part in parts]
    rows = []
    for number, ((rater, prompt), of) in enumerate(by_row(study).items()):
        rows.append(
            [f"h{prompt}", f"a{number}", rater, "Approved", prompt]
            + [of[who].response for who in RESPONDENTS]
            + [*RESPONDENTS]
            + [getattr(of[who], part) for who in RESPONDENTS for part in parts]
        )
    return write(folder / "batch.csv", header, *rows), {}


def label_studio(study: list[Given], folder: Path, parts: Parts = PARTS) -> Written:
    tasks = []
    for prompt, who in itertools.product(PROMPTS, RESPONDENTS):
        annotations = []
        for one in study:
            if (one.prompt, one.respondent) == (prompt, who):
                values = (
                    ("clarity", "rating", {"rating": one.clarity}),
                    ("depth", "number", {"number": one.depth}),
                    ("rank", "number", {"number": one.rank}),
                    ("accepted", "choices", {"choices": [one.accepted]}),
                )
                result = [
                    {"from_name": name, "to_name": "text", "type": kind, "value": value}
                    for name, kind, value in values
                    if name in parts
                ]
                annotations.append({"id": 1, "completed_by": one.rater, "result": result})
        data = {"prompt_id": prompt, "response_id": f"{prompt}/{who}", "source": who}
        tasks.append({"id": len(tasks), "data": data, "annotations": annotations})
    path = folder / "studio.json"
    path.write_text(json.dumps(tasks))
    return path, {}


def argilla(study: list[Given], folder: Path, parts: Parts = PARTS) -> Written:
    records = []
    for prompt, who in itertools.product(PROMPTS, RESPONDENTS):
        said = [one for one in study if (one.prompt, one.respondent) == (prompt, who)]
        records.append(
            {
                "id": f"{prompt}/{who}",
                "fields": {"text": "…"},
                "metadata": {"prompt_id": prompt, "source": who},
                "responses": {
                    part: [
                        {"value": getattr(one, part), "user_id": one.rater, "status": "submitted"}
                        for one in said
                    ]
                    for part in parts
                },
            }
        )
    path = folder / "argilla.json"
    path.write_text(json.dumps(records))
    return path, {}


def spss(study: list[Given], folder: Path, parts: Parts = PARTS) -> Written:
    """Raters and the label are codes with value labels; the rest is plain."""
    import pandas as pd
    import pyreadstat

    code = {rater: float(number) for number, rater in enumerate(RATERS, start=1)}
    frame = pd.DataFrame(
        {
            "rater_id": [code[one.rater] for one in study],
            "prompt_id": [one.prompt for one in study],
            "response_id": [one.response for one in study],
            "source": [one.respondent for one in study],
        }
    )
    for part in parts:
        frame[part] = [
            float(one.accepted == "yes" if part == "accepted" else getattr(one, part))
            for one in study
        ]
    labels: dict[str, Any] = {"rater_id": {n: rater for rater, n in code.items()}}
    measures: dict[str, str] = {}
    if "accepted" in parts:
        labels["accepted"] = {0.0: "no", 1.0: "yes"}
        measures["accepted"] = "nominal"
    path = folder / "study.sav"
    pyreadstat.write_sav(frame, str(path), variable_value_labels=labels, variable_measure=measures)
    return path, {}


def stata(study: list[Given], folder: Path, parts: Parts = PARTS) -> Written:
    import pandas as pd
    import pyreadstat

    path, _ = spss(study, folder, parts)
    frame, meta = pyreadstat.read_sav(str(path))
    out = folder / "study.dta"
    assert isinstance(frame, pd.DataFrame)
    pyreadstat.write_dta(frame, str(out), variable_value_labels=meta.variable_value_labels)
    return out, {}


LAYOUTS: tuple[Callable[..., Written], ...] = (
    long, wide, by_respondent, by_label, labels_in_the_row, qualtrics, google_forms, limesurvey,
    mturk, label_studio, argilla, spss, stata,
)  # fmt: skip
"""Those that can hold all: scores, ranks and labels."""


def sheet(study: list[Given], folder: Path) -> Written:
    """Ranks only: the columns are places."""
    rows = [
        [*key, *places({who: one.rank for who, one in of.items()}, len(RESPONDENTS))]
        for key, of in by_row(study).items()
    ]
    header = ["rater", "prompt_id", "1st", "2nd", "3rd", "4th"]
    return write(folder / "sheet.csv", header, *rows), {}


def lettered_sheet(study: list[Given], folder: Path) -> Written:
    letter = {who: name for name, who in LETTERS.items()}
    rows = [
        [*key, *places({letter[who]: one.rank for who, one in of.items()}, len(LETTERS), ", ")]
        for key, of in by_row(study).items()
    ]
    header = ["rater", "prompt_id", "best", "next", "then", "worst"]
    return write(folder / "letters.csv", header, *rows), {
        "columns": {"place_columns": header[2:], "key": LETTERS}
    }


def orders(study: list[Given], folder: Path) -> Written:
    rows = []
    for key, of in by_row(study).items():
        cells = places({who: one.rank for who, one in of.items()}, len(RESPONDENTS), " = ")
        rows.append([*key, " > ".join(cell for cell in cells if cell)])
    return write(folder / "orders.csv", ["rater", "prompt_id", "ranking"], *rows), {}


def ranks_by_respondent(study: list[Given], folder: Path) -> Written:
    rows = [[*key, *(of[who].rank for who in RESPONDENTS)] for key, of in by_row(study).items()]
    return write(folder / "ranks.csv", ["rater", "prompt_id", *RESPONDENTS], *rows), {}


def ranks_by_letter(study: list[Given], folder: Path) -> Written:
    rows = [[*key, *(of[who].rank for who in RESPONDENTS)] for key, of in by_row(study).items()]
    header = ["rater", "prompt_id", *(f"Response {letter} rank" for letter in LETTERS)]
    return write(folder / "ranked.csv", header, *rows), {"columns": {"key": LETTERS}}


RANKINGS: tuple[Callable[[list[Given], Path], Written], ...] = (
    sheet, lettered_sheet, orders, ranks_by_respondent, ranks_by_letter,
)  # fmt: skip
"""Those that hold the order only."""


class Pair(NamedTuple):
    """One rater's preference between two responses of a prompt."""

    rater: str
    prompt: str
    a: str
    b: str
    won_a: float


def pairs(study: list[Given]) -> list[Pair]:
    """Returns each rater's preferences over all pairs of a prompt, in changing order."""
    found = []
    for (rater, prompt), of in by_row(study).items():
        for number, (a, b) in enumerate(itertools.combinations(RESPONDENTS, 2)):
            first, second = (a, b) if number % 2 else (b, a)
            ranks = of[first].rank, of[second].rank
            won = 0.5 if ranks[0] == ranks[1] else float(ranks[0] < ranks[1])
            found.append(Pair(rater, prompt, first, second, won))
    return found


def _said(won: float, a: str, b: str, tie: str) -> str:
    return tie if won == 0.5 else a if won else b


def pairs_by_id(study: list[Given], folder: Path) -> Written:
    rows = []
    for one in pairs(study):
        a, b = f"{one.prompt}/{one.a}", f"{one.prompt}/{one.b}"
        rows.append([one.rater, one.prompt, a, b, _said(one.won_a, a, b, "tie")])
    header = ["rater_id", "prompt_id", "response_a", "response_b", "winner"]
    return write(folder / "pairs.csv", header, *rows), {}


def arena(study: list[Given], folder: Path) -> Written:
    rows = [
        [
            one.prompt,
            one.a,
            one.b,
            _said(one.won_a, "model_a", "model_b", "tie (bothbad)"),
            one.rater,
        ]
        for one in pairs(study)
    ]
    header = ["question_id", "model_a", "model_b", "winner", "judge"]
    return write(folder / "arena.csv", header, *rows), {}


def arena_one_hot(study: list[Given], folder: Path) -> Written:
    rows = [
        [one.rater, one.prompt, one.a, one.b, "long text " * 30, "long text " * 30,
         int(one.won_a == 1), int(one.won_a == 0), int(one.won_a == 0.5)]
        for one in pairs(study)
    ]  # fmt: skip
    header = ["rater", "prompt_id", "model_a", "model_b", "response_a", "response_b",
              "winner_model_a", "winner_model_b", "winner_tie"]  # fmt: skip
    return write(folder / "onehot.csv", header, *rows), {}


def lettered_pairs(study: list[Given], folder: Path) -> Written:
    letter = {who: name for name, who in LETTERS.items()}
    rows = []
    for one in pairs(study):
        a, b = letter[one.a], letter[one.b]
        rows.append([one.rater, one.prompt, a, b, _said(one.won_a, a, b, "equal")])
    header = ["rater", "prompt_id", "left", "right", "preferred"]
    return write(folder / "letters.csv", header, *rows), {"columns": {"key": LETTERS}}


def studio_pairs(study: list[Given], folder: Path) -> Written:
    tasks = []
    for one in pairs(study):
        data = {"prompt_id": one.prompt}
        data |= {"response_a": f"{one.prompt}/{one.a}", "response_b": f"{one.prompt}/{one.b}"}
        side = _said(one.won_a, "left", "right", "tie")
        choice = {"from_name": "preferred", "type": "choices", "value": {"choices": [side]}}
        annotation = {"completed_by": one.rater, "result": [choice]}
        tasks.append({"id": len(tasks), "data": data, "annotations": [annotation]})
    path = folder / "pairs.json"
    path.write_text(json.dumps(tasks))
    return path, {}


PREFERENCES: tuple[Callable[[list[Given], Path], Written], ...] = (
    pairs_by_id, arena, arena_one_hot, lettered_pairs, studio_pairs,
)  # fmt: skip
