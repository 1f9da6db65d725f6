"""Judgments as other evaluation tools save them: a row a response, judge and criterion.

- openevals 0.2.2: its results beside the inputs and outputs that were judged
- LangSmith 0.15.1: the table of an experiment (`evaluate(…).to_pandas()`)
- DeepEval 4.3.1: the test run that it writes, or a saved `EvaluationResult`
- pydantic-evals 2.62.0: an `EvaluationReport` as JSON
- Inspect AI 0.3.285: a log, `.eval` or `.json`
- MLflow 3.17.2: the table of `mlflow.genai.evaluate`, traces, and `eval_results_table.json`

A file is known by the keys of its first record and is read without its tool. A judgment that failed
has no value, whatever number the tool saved beside the error. A judgment that is a word, a person's
feedback and a response that does not exist are left out, each with its reason.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ...chat import prompt_text, response_text
from ...prompt_units import prompt_text_id
from ...readers.cells import is_missing, nested_value, read_number
from ...readers.dispatch import table_format
from ...readers.inspect_log import NO_RESPONSE, log_row, log_rows, read_eval_log
from ...readers.rows import Excluded, Row
from ...readers.text import read_json
from .layout import HumanFile, Layout, Opened

Record = Mapping[str, Any]

_OTHER_FORM = (ValueError, AttributeError, KeyError, TypeError, IndexError)
"""What a record runs into that has a number or a text where a tool has a list or an object."""

_RESPONDENT = ("respondent_id", "respondent", "system", "model", "model_name")
"""Names under which a case may say who answered, the first that it has counting."""

_WORDS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
_GRADES = {**_WORDS, "c": 1.0, "p": 0.5, "i": 0.0, "n": 0.0}
"""As Inspect counts them: correct, partly correct, incorrect, no answer."""

_NO_GRADE = "Grade not found in model output"
"""What Inspect says of a grader's reply without a grade; until 2025 the value beside it was I."""


class Judgment(NamedTuple):
    """One value that a tool saved.

    Attributes:
        criterion: what was judged; of a scorer that failed, the scorer.
        value: a number, a truth value or a word; nothing where there is no score.
        comment, error: the judge's reason, and what went wrong.
        scorer: what gave the value; where it fails, none of its criteria has one.
        judge, model: its name and its model, as far as the tool says.
        left_out: why it does not count.
    """

    criterion: str
    value: Any
    comment: Any = None
    error: Any = None
    scorer: str | None = None
    judge: str | None = None
    model: str | None = None
    left_out: str | None = None


class Case(NamedTuple):
    """One response and its judgments.

    Attributes:
        name: the tool's id of it.
        prompt, response: texts, chat messages, or mappings that hold them (see `chat`).
        about: what may say who answered, the likeliest first.
        judgments: what the tool saved.
        no_response: why there is nothing to judge.
        prompt_id: by default made from the prompt's text, so that respondents share it.
    """

    name: Any
    prompt: Any
    response: Any
    about: tuple[Any, ...]
    judgments: list[Judgment]
    no_response: str | None = None
    prompt_id: str | None = None


class JudgeTool(NamedTuple):
    """How one tool saves judgments.

    Attributes:
        name: what users call it; also the judge, where the file names none.
        known_by: what of the file shows it, in words.
        fits: whether a record is of this tool.
        case: the response and the judgments of a record; it may raise `_OTHER_FORM`.
        parts: the records in a file that is one document.
        rows: the records of a file, where they are not its rows.
        words: values that are words, in lower case, and their numbers.
    """

    name: str
    known_by: str
    fits: Callable[[Record], bool]
    case: Callable[[Record], Case]
    parts: Callable[[Record], Iterable[Record]] = lambda record: [record]
    rows: Callable[[HumanFile], Iterator[Row]] = HumanFile.rows
    words: Mapping[str, float] = _WORDS


# What is common to them --------------------------------------------------------------------------


def _table_parts(record: Record) -> Iterable[Record]:
    """Returns the rows of a table that pandas wrote as one JSON object, by columns or split."""
    columns, data = record.get("columns"), record.get("data")
    if isinstance(columns, list) and isinstance(data, list):
        return (dict(zip(map(str, columns), cells, strict=True)) for cells in data)
    if record and all(isinstance(cells, Mapping) and "0" in cells for cells in record.values()):
        places = next(iter(record.values()))
        return ({name: cells[place] for name, cells in record.items()} for place in places)
    return [record]


def _cases(tool: JudgeTool, file: HumanFile) -> Iterator[tuple[int, Case]]:
    """Returns each case with its line, or with its number in a document that holds all."""
    sink = file.sink()
    is_cells = not file.path.is_dir() and table_format(file.path, file.format).is_cells
    for line, document in tool.rows(file):
        parts, record, numbers = iter(tool.parts(document)), None, itertools.count(1)
        while record is not document:
            place = line
            try:
                record = next(parts)
                place = line if record is document else next(numbers)
                if is_cells:
                    record = {name: nested_value(cell) for name, cell in record.items()}
                case = tool.case(record)
                for judgment in case.judgments:
                    names = (judgment.criterion, judgment.judge or "", judgment.model or "")
                    if not all(isinstance(name, str) for name in names):
                        raise ValueError("a criterion, judge or model is no text")
                case = case._replace(
                    prompt=_text(case.prompt, prompt_text),
                    response=_text(case.response, response_text),
                )
            except StopIteration:
                break
            except _OTHER_FORM as error:
                why = f"it has no {error}" if isinstance(error, KeyError) else error
                sink.report(place, f"not readable as a record of {tool.name}: {why}"[:300])
            else:
                yield place, case


def _score(judgment: Judgment, words: Mapping[str, float]) -> float | str | None:
    """Returns a judgment's number, None where it failed, or why it is left out."""
    value = judgment.value
    if judgment.left_out or judgment.error:
        return judgment.left_out
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str) and value.strip().lower() in words:
        return words[value.strip().lower()]
    try:
        return read_number(value)
    except ValueError:
        return "a word, and no score"


def _text(value: Any, text_of: Callable[[Any], str | None]) -> str | None:
    if isinstance(value, str) or is_missing(value):
        return value if isinstance(value, str) else None
    if isinstance(value, Mapping):
        value = {name: cell for name, cell in value.items() if name not in _RESPONDENT}
    text = text_of(value)
    if text is None:
        text = json.dumps(value, ensure_ascii=False, skipkeys=True, default=str)
    return text


def _open(tool: JudgeTool, file: HumanFile) -> Opened:
    """Returns the rows of a file, which is read once before: a scorer that failed says only in its
    other judgments what it judges, and who judges.
    """
    scored: dict[str, dict[str, Judgment]] = {}
    as_numbers: dict[str, None] = {}
    for _, case in _cases(tool, replace(file, faults=[])):
        for judgment in case.judgments:
            if isinstance(_score(judgment, tool.words), float):
                of_scorer = scored.setdefault(judgment.scorer or judgment.criterion, {})
                of_scorer.setdefault(judgment.criterion, judgment)
                if str(judgment.value).strip().lower() in tool.words:
                    as_numbers[judgment.criterion] = None
    grades = ", and grades as C = 1, P = 0.5, I and N = 0" if tool.words is _GRADES else ""
    notice = f"true and false, yes and no are read as 1 and 0{grades}: {', '.join(as_numbers)}"
    return Opened(
        _judgments(tool, file, scored),
        frozenset({"prompt_text", "response_text"}),
        notices=(notice,) if as_numbers else (),
    )


def _judgments(
    tool: JudgeTool, file: HumanFile, scored: Mapping[str, Mapping[str, Judgment]]
) -> Iterator[Row | Excluded]:
    names: dict[int, str] = {}
    taken: set[str] = set()
    for line, case in _cases(tool, file):
        if case.no_response:
            yield Excluded(line, f"no response: {case.no_response}")
            continue
        prompt, response = case.prompt, case.response
        about = [part for part in case.about if isinstance(part, Mapping)]
        said = (part.get(name) for part in about for name in _RESPONDENT)
        respondent = next((name for name in said if isinstance(name, str) and name.strip()), None)
        # Several rows may be about one response, and one name may stand for several responses.
        key = hash((str(case.name), prompt, response, respondent))
        if key not in names:
            name = str(line) if is_missing(case.name) else str(case.name)
            names[key] = name if name not in taken else f"{name}-{line}"
            taken.add(names[key])
        shared = {
            "response_id": names[key],
            "prompt_id": case.prompt_id or (None if prompt is None else prompt_text_id(prompt)),
            "prompt_text": prompt,
            "response_text": response,
            "respondent_id": respondent,
        }
        for judgment in case.judgments:
            score = _score(judgment, tool.words)
            if isinstance(score, str):
                yield Excluded(line, f"{judgment.criterion}: {score}")
                continue
            parts = [judgment]
            if score is None:
                of_scorer = scored.get(judgment.scorer or judgment.criterion, {})
                # An error is of all that the scorer judges.
                parts = [
                    part
                    for part in of_scorer.values()
                    if judgment.error or part.criterion == judgment.criterion
                ]
                if not parts:
                    yield Excluded(line, f"failed: {judgment.criterion} has no score in the file")
            for part in parts:
                judged = {
                    "judge": part.model or part.judge or tool.name,
                    "model": part.model,
                    "criterion": part.criterion,
                    "value": score,
                    "status": "failed" if score is None else "scored",
                    "comment": judgment.error if score is None else judgment.comment,
                }
                yield Row(line, {**shared, **judged})


# The tools ---------------------------------------------------------------------------------------


def _test_cases(document: Record) -> Iterator[Record]:
    run = document.get("testRunData", document)
    for name in ("testCases", "conversationalTestCases", "test_results"):
        for case in run.get(name) or ():
            yield {**case, "hyperparameters": run.get("hyperparameters")}


def _deepeval(case: Record) -> Case:
    def plain(record: Record) -> Record:
        # A saved result says actual_output where a test run says actualOutput.
        return {name.replace("_", "").lower(): value for name, value in record.items()}

    case = plain(case)
    judgments = [
        Judgment(
            metric["name"], metric.get("score"), metric.get("reason"), metric.get("error"),
            model=metric.get("evaluationmodel"),
        )
        for metric in map(plain, case.get("metricsdata") or ())
    ]  # fmt: skip
    turns = case.get("turns")
    prompt, response = (
        (turns[:-1], turns[-1]) if turns else (case.get("input"), case.get("actualoutput"))
    )
    about = (case.get("metadata"), case.get("additionalmetadata"), case.get("hyperparameters"))
    return Case(case["name"], prompt, response, about, judgments)


def _report_cases(report: Record) -> Iterator[Record]:
    for case in (*report["cases"], *report["failures"]):
        yield {**case, "experiment_metadata": report.get("experiment_metadata")}


def _pydantic_evals(case: Record) -> Case:
    judgments = []
    for kind in ("scores", "assertions", "labels"):
        for name, result in (case.get(kind) or {}).items():
            source = result["source"]
            # Called as its criterion, an evaluator is no judge who may have others.
            judge = source["name"] if source["name"] != name else None
            arguments = source.get("arguments")
            model = arguments.get("model") if isinstance(arguments, Mapping) else None
            scorer = json.dumps(source)
            judgments.append(
                Judgment(name, result["value"], result.get("reason"), None, scorer, judge, model)
            )
    for failure in case.get("evaluator_failures") or ():
        error, scorer = failure["error_message"], json.dumps(failure["source"])
        judgments.append(Judgment(failure["name"], None, None, error, scorer))
    about = (case.get("metadata"), case["inputs"], case.get("experiment_metadata"))
    why = "the task failed" if "error_message" in case else None
    return Case(case["name"], case["inputs"], case.get("output"), about, judgments, why)


def _results(value: Any, depth: int = 3) -> Iterator[Record]:
    """Returns the evaluator results in a record, whatever the user called what holds them."""
    if isinstance(value, Mapping):
        if {"key", "score"} <= value.keys():
            yield value
            return
        value = [part for name, part in value.items() if name not in ("inputs", "outputs")]
    for part in value if isinstance(value, list) and depth else ():
        yield from _results(nested_value(part), depth - 1)


def _openevals(record: Record) -> Case:
    judgments = [
        Judgment(one["key"], one.get("value") if one["score"] is None else one["score"],
                 one.get("comment"))
        for one in _results(record)
    ]  # fmt: skip
    inputs, outputs = record.get("inputs"), record.get("outputs")
    # A model that stands beside a result is the judge's as likely as the respondent's.
    beside = {name: record.get(name) for name in _RESPONDENT if not name.startswith("model")}
    return Case(record.get("id"), inputs, outputs, (beside, outputs, inputs), judgments)


def _langsmith(row: Record) -> Case:
    def under(prefix: str) -> dict[str, Any]:
        return {
            name.removeprefix(prefix): cell
            for name, cell in row.items()
            if name.startswith(prefix) and not is_missing(cell)
        }

    names = [name for name in row if name.startswith("feedback.")]
    judgments = [Judgment(name.removeprefix("feedback."), row[name]) for name in names]
    inputs, outputs = under("inputs."), under("outputs.")
    why = None if is_missing(row.get("error")) else "it ended in an error"
    return Case(row.get("id"), inputs, outputs, (outputs, inputs), judgments, why)


_CLASSIC = re.compile(r"(?P<version>(?P<name>.+)/v\d+)/score")


def _is_mlflow(record: Record) -> bool:
    info = record.get("info")
    return (
        {"trace_id", "assessments"} <= record.keys()
        or (isinstance(info, Mapping) and {"trace_id", "assessments"} <= info.keys())
        or any(_CLASSIC.fullmatch(name) for name in record)
    )


def _mlflow(record: Record) -> Case:
    if isinstance(record.get("info"), Mapping):
        roots = [one for one in record["data"]["spans"] if not one.get("parent_span_id")]
        sides = {"request": "mlflow.spanInputs", "response": "mlflow.spanOutputs"}
        texts = {name: roots[0]["attributes"].get(theirs) for name, theirs in sides.items()}
        record = {**record["info"], **{name: json.loads(texts[name] or "null") for name in texts}}
    if "assessments" not in record:
        metrics = [match for name in record if (match := _CLASSIC.fullmatch(name))]
        judgments = [
            Judgment(
                metric["name"], record[metric[0]], record.get(f"{metric['version']}/justification")
            )
            for metric in metrics
        ]
        return Case(None, dict(record), record.get("outputs"), (record,), judgments)
    if not isinstance(record["assessments"], list):
        raise ValueError("its assessments are no list")
    # Others than feedback say what the answer should be.
    judgments = [_assessment(one) for one in record["assessments"] if one.get("feedback")]
    request, response = record.get("request"), record.get("response")
    about = (record.get("tags"), request, record.get("trace_metadata"))
    why = "it ended in an error" if record.get("state") == "ERROR" else None
    return Case(record["trace_id"], request, response, about, judgments, why)


def _assessment(record: Record) -> Judgment:
    name, kind = record["assessment_name"], record["source"]["source_type"]
    source_id, feedback = record["source"].get("source_id"), record["feedback"]
    judge = source_id if source_id not in (name, "default") else None
    error = feedback.get("error")
    left_out = "replaced by a later one" if record.get("valid") is False else None
    return Judgment(
        name, feedback.get("value"), record.get("rationale"),
        error and (error.get("error_message") or error.get("error_code") or "error"),
        judge=judge,
        model=judge if kind == "LLM_JUDGE" else None,
        left_out="a person's feedback" if kind == "HUMAN" else left_out,
    )  # fmt: skip


def _log(file: HumanFile) -> Iterator[Row]:
    if file.path.suffix == ".eval" or file.format == "eval":
        return read_eval_log(file.path, file.sink(), _sample)
    content = next(read_json(file.path, file.sink()), Row(1, {}))
    return log_rows(content.values, file.sink(), _sample)


def _sample(number: int, sample: Any, evaluation: Record) -> Row:
    """Returns a row of `log_row` with the sample's judgments."""
    # A scorer that fails ends its sample; the response stays what it is.
    values = log_row(number, {**sample, "error": None}, evaluation).values
    failure = (sample.get("error") or {}).get("message") or "it gave no score"
    scorers, scores = _scorers(evaluation), sample.get("scores") or {}
    judgments = []
    for scorer in dict.fromkeys((*scorers, *scores)):
        criterion, model = scorers.get(scorer, (scorer, None))
        score = scores.get(scorer) or {}
        value, comment = score.get("value"), score.get("explanation")
        error = None
        if value is None or str(comment or "").startswith(_NO_GRADE):
            value, error = None, comment or failure
        judge = scorer if isinstance(value, Mapping) else None
        for name, part in (value if isinstance(value, Mapping) else {criterion: value}).items():
            judgments.append(Judgment(name, part, comment, error, scorer, judge, model))
    return Row(number, {**values, "judgments": judgments})


def _scorers(evaluation: Record) -> dict[str, tuple[str, str | None]]:
    """Returns a log's names of its scorers to criterion and model.

    One scorer with several models is one criterion of several judges; the log numbers it.
    """
    grader = ((evaluation.get("model_roles") or {}).get("grader") or {}).get("model")
    keys: dict[str, tuple[str, str | None]] = {}
    for scorer in evaluation.get("scorers") or ():
        name = scorer["name"].rpartition("/")[2]
        model = (scorer.get("options") or {}).get("model")
        model = model.get("model") if isinstance(model, Mapping) else model
        if model is None and name.startswith("model_graded"):
            model = grader or evaluation["model"]
        n = sum(key.rstrip("0123456789") == name for key in keys)
        key = f"{name}{n or ''}"
        judged = (name, model if isinstance(model, str) else None)
        keys[key] = (key, judged[1]) if judged in keys.values() else judged
    return keys


def _inspect(sample: Record) -> Case:
    return Case(
        sample["response_id"], sample.get("prompt_text"), sample.get("response_text"), (sample,),
        sample.get("judgments") or [], sample.get(NO_RESPONSE), sample.get("prompt_id"),
    )  # fmt: skip


TOOLS = (
    JudgeTool(
        "inspect", "a log of samples",
        lambda record: {"sample_id", "epoch", "task"} <= record.keys(),
        _inspect, rows=_log, words=_GRADES,
    ),
    JudgeTool(
        "deepeval", "test cases with metrics",
        lambda record: bool({"testRunData", "testCases", "test_results"} & record.keys()),
        _deepeval, _test_cases,
    ),
    JudgeTool(
        "pydantic-evals", "cases and failures of a report",
        lambda record: isinstance(record.get("cases"), list) and "failures" in record,
        _pydantic_evals, _report_cases,
    ),
    JudgeTool("mlflow", "assessments of traces", _is_mlflow, _mlflow, _table_parts),
    JudgeTool(
        "langsmith", "columns feedback.… beside inputs.… and outputs.…",
        lambda record: all(
            any(name.startswith(prefix) for name in record) for prefix in ("feedback.", "outputs.")
        ),
        _langsmith, _table_parts,
    ),
    JudgeTool(
        "openevals", "results with key, score and comment beside outputs",
        lambda record: "outputs" in record and any(_results(record)),
        _openevals, _table_parts,
    ),
)  # fmt: skip
"""A new tool is an entry here."""


def _fits(tool: JudgeTool, file: HumanFile) -> bool:
    if tool.rows is _log and Path(file.path.name.removesuffix(".gz")).suffix not in (
        ".eval", ".json",
    ):  # fmt: skip
        return False
    first: Record = file.first
    if tool.parts is _table_parts:
        try:
            first = next(iter(_table_parts(first)), {})
        except (ValueError, KeyError):
            return False
    return bool(first) and tool.fits(first)


JUDGE_LAYOUTS = tuple(
    Layout(tool.name, partial(_fits, tool), partial(_open, tool), tool.known_by) for tool in TOOLS
)
