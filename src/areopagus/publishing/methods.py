"""The methods paragraph of a paper, and its table, made of run.json and the estimates alone.

What a reader must know to judge the figures: who judged what and how, what became of it, how it was
aggregated and tested, and what is not claimed. Each kind of run has one function; all others are
refused, so that nobody gets a paragraph that leaves out what matters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..aggregation.estimate import Estimate
from ..errors import InputError, InputFault
from ..formats import count, dollars, estimate, listed_all, number, percent, said, units, words
from ..records.estimates import estimate_at, estimates_of, select
from ..records.run_folder import JUDGMENTS_FILE, RUN_FILE, run_identity_hash
from ..records.variables import criteria_of
from ..reports.comparison import of_family
from ..reports.document import Column, Document, Points, Section, Table

if TYPE_CHECKING:
    import pandas as pd

    from ..run import JobRun

METHOD_PAPER: Final = (
    "Watson-Daniels et al., SCRuB: Social Concept Reasoning under Rubric-Based Evaluation, 2026, "
    "arXiv:2605.06444"
)
DEMONSTRATED: Final = (
    "DEMONSTRATION: an embedded stand-in, no language model, took part; these figures show how the "
    "tool works and are no findings."
)
COMPOSITE: Final = "composite"
_UNIVERSES: Final = ("this panel", "judges like these")

Said = tuple[str, str]
"""(what a paragraph is about, its sentences)."""


def methods(folder: str | Path) -> Document:
    """The methods paragraphs and tables of a folder of results.

    Args:
        folder: of a panel run, a stress test, a calibration, an audit, or a comparison of two.

    Raises:
        InputError: the folder holds nothing of these, or its files cannot be read.
    """
    from ..any_report import run_of

    run = run_of(folder)
    if run.kind not in METHODS:
        raise InputError(
            [InputFault(str(folder), f"is of kind {run.kind!r}, which has no methods paragraph")],
            hint=f"There is one of: {', '.join(METHODS)}.",
        )
    run.require_estimates()
    try:
        paragraphs, tables = METHODS[run.kind](run)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            [InputFault(str(folder), f"its files do not fit together: {error!r}")]
        ) from error
    is_demonstration = bool(run.record.get("demonstration") or run.record.get("stand_ins"))
    if is_demonstration:
        (about, told), *others = paragraphs
        paragraphs = [(about, f"{DEMONSTRATED} {told}"), *others]
    paragraphs = [*((a, b) for a, b in paragraphs if b), _reproducible(run)]
    sections = [
        Section("methods", "Methods", [Points([(f"{a}.", b) for a, b in paragraphs])], "summary")
    ]
    if tables:
        sections.append(Section("tables", "Tables", tables, "summary"))
    sections.append(Section("hashes", "Hashes", [Points(list(_hashes(run.record)))], "appendix"))
    name = Path(folder).resolve().name
    parts = f"{units(len(paragraphs), 'paragraph')} and {units(len(tables), 'table')}"
    return Document(
        title=f"Methods of {name}",
        kind="methods",
        headline=[
            f"A methods section for a paper: {parts}, from {RUN_FILE} and the estimates of {name}."
        ],
        sections=sections,
        is_demonstration=is_demonstration,
    )


# A panel run -------------------------------------------------------------------------------------


def _panel(run: JobRun) -> tuple[list[Said], list[Table]]:
    record, frame = run.record, run.estimates
    paragraphs = [
        _judges(record, record["identity"], record.get("panel", {}), run.path),
        ("Material", _material(record, frame)),
        ("Aggregation", _aggregation(record, frame)),
        ("Results", _results(frame)),
        ("Agreement with people", _people(run.path)),
        ("Not claimed", _not_claimed(frame)),
    ]
    return paragraphs, [table for table in (_means(frame), _differences(frame)) if table.rows]


def _judges(
    record: Mapping[str, Any], identity: Mapping[str, Any], panel: Mapping[str, Any], folder: Path
) -> Said:
    """Who judged, and how they were asked."""
    personas, models = identity["personas"], identity["models"]
    axes: dict[str, list[str]] = {}
    for one in panel.get("personas", ()):
        axes.setdefault(str(one.get("axis", "")), []).append(str(one.get("label") or one["id"]))
    of_axes = "; ".join(f"{axis}: {', '.join(names)}" for axis, names in axes.items())
    repeats = int(identity.get("repeats", 1))
    n = len(personas) * len(models) * repeats
    if identity.get("imported"):
        low, high = identity["scale"]
        return "Judges", (
            f"Stored judgments of {units(len(personas), 'persona')} on "
            f"{units(len(models), 'model')} ({listed_all(list(models))}) were imported: at most "
            f"{units(n, 'judgment')} a response, on {listed_all(identity['criteria'])}, scale "
            f"{low:g} to {high:g}. How the judges were asked is not recorded here."
        )
    told = [
        (
            f"Responses were scored by a panel of language-model judges ({METHOD_PAPER}): "
            f"{units(len(personas), 'persona')}{f' ({of_axes})' if of_axes else ''}, each put to "
            f"{units(len(models), 'model')}{'' if repeats == 1 else f', {repeats} times'}: "
            f"{units(n, 'judgment')} a response."
        )
    ]
    told.append(_models(models, panel, _answered_by(folder)))
    if days := _days(record):
        told.append(f"They were asked {days}.")
    told.append(_asked(identity, panel))
    config = record.get("config", {})
    if config.get("judges_per_response"):
        told.append(
            f"Each response was put to {config['judges_per_response']} of the judges, drawn at "
            "random."
        )
    if config.get("precision"):
        told.append("A stopping rule ended the judging of a response once it was precise enough.")
    return "Judges", " ".join(told)


def _models(
    models: Mapping[str, Any], panel: Mapping[str, Any], answered: Mapping[str, Sequence[str]]
) -> str:
    effective = {one["name"]: one.get("effective") or {} for one in panel.get("models", ())}
    parts = []
    for name, spec in models.items():
        sent = effective.get(name) or spec.get("parameters") or {}
        notes = [f"answered as {listed_all(names)}" for names in [answered.get(name, ())]
                 if names and list(names) != [name]]  # fmt: skip
        notes += [
            "temperature not sent" if "temperature" not in sent
            else f"temperature {sent['temperature']}"
        ]  # fmt: skip
        notes += [f"{words(k)} {v}" for k, v in sent.items() if k != "temperature"]
        if spec.get("score_mode") == "expected":
            notes.append("scores are means over the probabilities of the integers")
        parts.append(f"{spec.get('model', name)} ({'; '.join(notes)})")
    return f"{'Model' if len(parts) == 1 else 'Models'}: {'; '.join(parts)}."


def _answered_by(folder: Path) -> dict[str, list[str]]:
    """Judge model to the names under which it answered, as the judgments say."""
    import pyarrow.parquet as parquet

    path = folder / JUDGMENTS_FILE
    if not path.is_file():
        return {}
    columns = ["model", "answered_by"]
    with parquet.ParquetFile(path, read_dictionary=columns) as file:
        if not set(columns) <= set(file.schema_arrow.names):
            return {}
        pairs: set[tuple[str, str]] = set()
        for batch in file.iter_batches(batch_size=100_000, columns=columns):
            pairs |= {
                (one["model"], one["answered_by"])
                for one in batch.to_pandas().drop_duplicates().to_dict("records")
                if isinstance(one["answered_by"], str)
            }
    found: dict[str, list[str]] = {}
    for model, name in sorted(pairs):
        found.setdefault(model, []).append(name)
    return found


def _days(record: Mapping[str, Any]) -> str:
    moments = [
        str(one[end])[:10]
        for one in record.get("sessions", ())
        for end in ("started", "ended")
        if one.get(end)
    ]
    if not moments:
        return ""
    first, last = min(moments), max(moments)
    return f"on {first}" if first == last else f"from {first} to {last}"


def _asked(identity: Mapping[str, Any], panel: Mapping[str, Any]) -> str:
    low, high = identity["scale"]
    rubric = panel.get("rubric", {}).get("label") or identity["rubric"]["id"]
    scale = f"whole numbers from {low} (worst) to {high} (best)"
    mode = identity.get("mode", "dimensions")
    if mode == "dimensions":
        names = listed_all(
            [label.lower() for label in criteria_of({"identity": identity}).values()]
        )
        n = units(len(identity["criteria"]), "criterion", "criteria")
        what = f"{n} of the rubric “{rubric}” ({names}), {scale}"
    elif mode == "holistic":
        what = f"one overall score by the whole rubric “{rubric}”, {scale}"
    else:
        what = f"one overall score without a rubric, {scale}"
    anchors = "with" if identity.get("anchors") else "without"
    rationale = {
        "none": "No rationale was asked for",
        "before": "A rationale was asked for before the scores",
        "after": "A rationale was asked for after the scores",
    }.get(str(identity.get("rationale")), f"Rationale: {identity.get('rationale')}")
    order = {
        "response_first": "the persona stood after the response",
        "persona_first": "the persona stood before the response",
    }.get(str(identity.get("order")), "")
    turn = identity.get("criterion_order", 0)
    turned = f"the criteria were rotated by {units(turn, 'place')}" if turn else ""
    apart = identity.get("criterion_calls") == "apart"
    alone = "each criterion was asked for in a call of its own" if apart else ""
    template = identity.get("template", {})
    named = f"prompt template {template.get('id')}, version {template.get('version')}"
    marked = "every word of a response carried a mark" if identity.get("datamark") else ""
    about = "; ".join(filter(None, [rationale, order, turned, alone, marked, named]))
    return f"Each judge gave {what}, {anchors} descriptions of score levels. {about}."


def _material(record: Mapping[str, Any], frame: pd.DataFrame) -> str:
    found = record["responses"]
    counts = _statuses(frame)
    planned = sum(counts.values())
    others = [f"{count(n)} {words(name)}" for name, n in counts.items() if n and name != "scored"]
    told = [
        (
            f"{units(int(found['n']), 'response')} by "
            f"{units(int(found['respondents']), 'respondent')} to "
            f"{units(int(found['prompts']), 'prompt')}. Of {count(planned)} planned judgments "
            f"{count(counts.get('scored', 0))} were scored"
            f"{f' ({listed_all(others)})' if others else ''}; a judgment that is not scored enters "
            "no mean."
        )
    ]
    if left_out := found.get("left_out"):
        reasons = "; ".join(f"{count(n)}: {reason}" for reason, n in left_out.items())
        n = units(sum(left_out.values()), "sample")
        told.append(f"Left out, because there was no response: {n} ({reasons}).")
    verdicts = {
        name: _count_at(frame, "responses", factor="status", group=name)
        for name in ("scored", "inconclusive", "screened")
    }
    quorum = record.get("panel", {}).get("quorum")
    if quorum is not None:
        told.append(
            f"A response has a score where at least {percent(quorum)} of its planned judgments are "
            f"scored (quorum): {count(verdicts['scored'])} scored, "
            f"{count(verdicts['inconclusive'])} inconclusive, {count(verdicts['screened'])} "
            "screened (nothing to judge)."
        )
    if record.get("state") != "complete":
        why = {"budget": "its cost cap was reached", "interrupted": "it was interrupted"}
        state = str(record.get("state"))
        told.append(f"The run is not complete: {why.get(state, state)}.")
    return " ".join(told)


def _statuses(frame: pd.DataFrame) -> dict[str, int]:
    rows = select(frame, "judgments", detail=None)
    return {
        str(name): round(float(value))
        for name, value in zip(rows["group"], rows["value"], strict=True)
    }


def _count_at(frame: pd.DataFrame, table: str, **keys: str | None) -> int:
    found = estimate_at(frame, table, table, **keys)
    return 0 if found is None else round(found.value)


def _aggregation(record: Mapping[str, Any], frame: pd.DataFrame) -> str:
    means = _of_respondents(frame)
    told = [
        (
            "The score of a response (composite) is the unweighted mean over criteria of the mean "
            "over its scored judgments. The mean of a respondent is taken over prompts, of the "
            "means of its responses to each: the prompt is the unit of analysis, and judges are "
            "not counted as independent raters."
        )
    ]
    moved = select(frame, "respondent", criterion=COMPOSITE)
    moved = moved[moved["measure"] == "moved"]
    if len(moved):
        most = float(moved["value"].abs().max())
        told.append(
            "Where judges are missing, means are those of the additive fit of responses and "
            f"judges, which moved the mean of a respondent by at most {number(most)} points."
        )
    for universe, about in zip(
        _UNIVERSES,
        ("other prompts of this kind, judged by this panel",
         "other prompts and other judges of this kind"),
        strict=True,
    ):  # fmt: skip
        found = [one for one in means.get(universe, {}).values() if one.has_interval]
        if found:
            # The intervals of some respondents end where the scale does: not another method.
            parts = [one.method.partition("; cut at ") for one in found]
            methods = listed_all(list(dict.fromkeys(name for name, _, _ in parts)))
            methods += "; cut at the ends of the scale" if any(end for _, end, _ in parts) else ""
            level = percent(found[0].level)
            told.append(f"{level} intervals for “{universe}” speak of {about} ({methods}).")
    missing = [
        f"{who}: {said(one.reason)}"
        for who, one in means.get(_UNIVERSES[0], {}).items()
        if not one.has_interval and one.reason
    ]
    if missing:
        told.append(f"Without an interval: {'; '.join(missing)}.")
    rows = _pairs(frame)
    family = next((one for one in rows["family"] if isinstance(one, str)), None)
    if family is not None:
        told.append(
            "Respondents are compared by paired differences within prompts, over the judges that "
            "scored both sides. Intervals hold simultaneously over the family of "
            f"{family} and decide: a difference is shown where its interval leaves out 0."
        )
    cost = record.get("cost", {})
    if "replies_usd" in cost:
        unknown = int(cost.get("judgments_with_unknown_price", 0))
        if unknown and not cost["replies_usd"]:
            told.append("What the judgments cost is unknown.")
        else:
            tail = f", without {units(unknown, 'judgment')} of unknown price" if unknown else ""
            told.append(f"The judgments cost {dollars(cost['replies_usd'])}{tail}.")
    return " ".join(told)


def _of_respondents(frame: pd.DataFrame) -> dict[str, dict[str, Estimate]]:
    """Universe to respondent to the mean of the composite."""
    rows = select(frame, "respondent", criterion=COMPOSITE)
    rows = rows[rows["measure"] == "mean"]
    found: dict[str, dict[str, Estimate]] = {}
    for who, one in zip(rows["respondent"], estimates_of(rows), strict=True):
        found.setdefault(str(one.universe), {})[str(who)] = one
    return found


def _pairs(frame: pd.DataFrame) -> pd.DataFrame:
    rows = select(frame, "comparison", criterion=COMPOSITE)
    return rows[rows["measure"] == "difference"]


def _reference(frame: pd.DataFrame) -> str | None:
    """Whom most others are compared with: the best, where all pairs are tested."""
    names = [str(one) for one in _pairs(frame)["baseline"]]
    return max(dict.fromkeys(names), key=names.count) if names else None


def _results(frame: pd.DataFrame) -> str:
    total = estimate_at(frame, "run", "mean", criterion=COMPOSITE)
    told = []
    if total is not None and math.isfinite(total.value):
        told.append(
            f"The mean over all responses is {estimate(total)} ({units(total.n or 0, 'prompt')})."
        )
    means = _of_respondents(frame).get(_UNIVERSES[0], {})
    parts = [f"{who} {estimate(one)} ({units(one.n or 0, 'prompt')})" for who, one in means.items()]
    if 1 < len(parts) <= 6:
        told.append(f"By respondent: {'; '.join(parts)}.")
    elif len(parts) > 6:
        told.append(f"The means of {len(parts)} respondents stand in the table.")
    return " ".join(told) or "No response was scored."


def _people(folder: Path) -> str:
    from ..calibrated import people_sentence

    told = people_sentence(folder)
    if told is None:
        return (
            "No agreement with human judgments was measured for this run; the scores are those of "
            "the panel and are not claimed to be those of people."
        )
    return f"{told[0].upper()}{told[1:]}."


def _not_claimed(frame: pd.DataFrame) -> str:
    worth = estimate_at(frame, "worth", "effective judges")
    told = "The judges of a response share models and training and err alike: "
    if worth is not None and math.isfinite(worth.value):
        told += (
            f"{units(worth.n or 0, 'judgment')} of a response are worth {number(worth.value, 1)} "
            f"independent ones ({worth.method})."
        )
    else:
        why = said(worth.reason) if worth is not None and worth.reason else "not estimated"
        told += f"how many independent ones they are worth is unknown ({why})."
    return (
        f"{told} Scores speak of the text by this rubric; nothing is claimed about whether its "
        "conclusions are right, about other kinds of prompts, or about later versions of the "
        "models."
    )


def _means(frame: pd.DataFrame) -> Table:
    means = _of_respondents(frame)
    ours, such = (means.get(one, {}) for one in _UNIVERSES)
    columns = [Column("Respondent", "id"), Column("Prompts", "count"), Column("Mean", "estimate")]
    if such:
        columns.append(Column("For judges like these", "estimate"))
    best = sorted(ours, key=lambda who: -ours[who].value if math.isfinite(ours[who].value) else 99)
    rows = [
        [who, ours[who].n, ours[who], *([such[who]] if who in such else [None] * bool(such))]
        for who in best
    ]
    return Table(
        "Composite by respondent, mean with its 95% interval over prompts for this panel, and for "
        "judges like these.", "Means", columns, rows,
    )  # fmt: skip


def _differences(frame: pd.DataFrame) -> Table:
    reference = _reference(frame)
    pairs = _pairs(frame)
    pairs = pairs[pairs["baseline"] == reference]
    found: dict[str, dict[str, Estimate]] = {}
    for who, one in zip(pairs["respondent"], estimates_of(pairs), strict=True):
        found.setdefault(str(who), {})[str(one.universe)] = one
    columns = [Column("Respondent", "id"), Column("Prompts", "count")]
    columns += [Column(name.capitalize(), "estimate", is_signed=True) for name in _UNIVERSES]
    rows: list[list[Any]] = []
    for who, by in found.items():
        first = next(iter(by.values()))
        row: list[Any] = [who, first.n]
        for universe in _UNIVERSES:
            pair = by.get(universe)
            row.append(None if pair is None else of_family(pair))
        rows.append(row)
    return Table(
        f"Difference to {reference} within prompts (below 0: {reference} is higher), with "
        "simultaneous 95% intervals.", "Differences", columns, rows,
    )  # fmt: skip


# Other kinds: what they asked, then what their own page says first --------------------------------


def _shown(run: JobRun) -> tuple[list[Said], list[Table]]:
    """The answer of the run's own page with its grounds, and the first table of its summary."""
    document = run.document()
    paragraphs = [("Results", " ".join(document.headline))] if document.headline else []
    if document.trust:
        grounds = [f"{word}: {sentence.rstrip('.')}" for word, sentence in document.trust]
        paragraphs.append(("Grounds", f"{'; '.join(grounds)}."))
    tables = [
        part
        for section in document.sections
        if section.audience == "summary"
        for part in section.parts
        if isinstance(part, Table)
    ]
    return paragraphs, tables[:1]


def _limits(record: Mapping[str, Any]) -> list[Said]:
    given = record.get("limitations") or record.get("result", {}).get("limitations", ())
    told = [one if isinstance(one, str) else f"{one[0]} ({one[1]})" for one in given]
    sentences = [f"{one[:1].upper()}{one[1:]}".rstrip(".") for one in told if one]
    return [("Limitations", ". ".join(sentences) + ".")] if sentences else []


def _asked_models(record: Mapping[str, Any], targets: Mapping[str, Any]) -> str:
    effective = record.get("effective_parameters", {})
    panel = {"models": [{"name": name, "effective": one} for name, one in effective.items()]}
    return _models(targets, panel, {})


def _tests(frame: pd.DataFrame) -> str:
    """Units, intervals, tests and families of the main figures, as the estimates name them."""
    main = frame[frame["p_adjusted"].notna() | frame["family"].notna()]
    if main.empty:
        return ""
    parts = []
    for column, told in (("unit", "unit"), ("method", "intervals"), ("p_method", "tests")):
        given = [one for one in dict.fromkeys(main[column]) if isinstance(one, str) and one]
        # A figure that is the same in every unit needed no test: its method is "none".
        seen = [one for one in given if not one.endswith(", none")]
        if column == "method":
            seen = list(dict.fromkeys(_interval_of(one) for one in seen))
        if seen:
            parts.append(f"{told}: {listed_all(seen[:3])}")
    families = dict.fromkeys(str(one) for one in main["family"] if isinstance(one, str))
    if families:
        shown = listed_all(list(families)[:3])
        more = len(families) - 3
        parts.append(
            f"adjusted within {shown}" + (f" and {more} more families" if more > 0 else "")
        )
    told = "; ".join(parts)
    return f"{told[:1].upper()}{told[1:]}."


def _option(name: str, value: Any) -> str:
    """An option that was chosen: "reasons", "order fixed", "markers class and occupation"."""
    if value is True:
        return words(name)
    told = listed_all([str(one) for one in value]) if isinstance(value, list) else str(value)
    return f"{words(name)} {told}"


def _interval_of(method: str) -> str:
    """How an interval was made; what it is of stands before it: "after less before; 95% t"."""
    return method.removeprefix("after less before; ").partition("; cut at ")[0]


def _stress(run: JobRun) -> tuple[list[Said], list[Table]]:
    from ..stress_test.answer import framing_name

    record, identity = run.record, run.record["identity"]
    plan = identity["plan"]
    framings = list(identity["framings"])
    sentences = [
        (
            f"{units(int(record['prompts']['n']), 'prompt')} were put to "
            f"{units(len(identity['targets']), 'model')} as they are and reframed in "
            f"{units(len(framings), 'way')} ({', '.join(map(framing_name, framings))})."
        ),
        _asked_models(record, identity["targets"]),
        f"Variants were written by {listed_all(list(identity.get('rewriters', {}))) or 'people'}.",
        (
            "Degradation is the score of the baseline minus that of the reframed prompt, by "
            f"prompt; positive is worse. A change below {number(plan['margin'], 1)} points counts "
            f"as none; families err in at most {plan['alpha']} of studies."
        ),
    ]
    if days := _days(record):
        sentences.append(f"All was asked {days}.")
    shown, tables = _shown(run)
    judges = _judges({}, identity["panel"],
        record.get("panel", {}), run.path / "panel",
    )  # fmt: skip
    return [
        ("Design", " ".join(sentences)), judges, ("Tests", _tests(run.estimates)), *shown,
        *_limits(record),
    ], tables  # fmt: skip


def _calibration(run: JobRun) -> tuple[list[Said], list[Table]]:
    record, frame = run.record, run.estimates

    def n(measure: str) -> int:
        found = estimate_at(frame, "matched", measure, factor=None)
        return 0 if found is None else round(found.value)

    config = record.get("config", {})
    sentences = [
        (
            f"The panel's scores were compared with {units(n('n_ratings'), 'rating')} by "
            f"{units(n('n_raters'), 'rater')} of {units(n('n_responses'), 'response')} to "
            f"{units(n('n_prompts'), 'prompt')}; {units(n('n_both'), 'response')} were both "
            "rated and scored."
        ),
        (
            "Agreement is Kendall's tau-b within prompts with the mean of the other raters, beside "
            f"that of one more person; {percent(config.get('level', 0.95))} intervals are over "
            f"prompts, and a difference below {config.get('epsilon')} counts as none."
        ),
    ]
    shown, tables = _shown(run)
    paragraphs: list[Said] = [("Design", " ".join(sentences))]
    if record.get("panel"):
        paragraphs.append(_judges({},
                                  record["panel"], {}, run.path))  # fmt: skip
    return [*paragraphs, *shown, *_limits(record)], tables


def _audit(run: JobRun) -> tuple[list[Said], list[Table]]:
    record, identity = run.record, run.record["identity"]
    about, items = record["audit"], record["items"]
    counts = record.get("stages", {}).get("ask", {})
    repeats = int(identity.get("repeats", 1))
    sentences = [
        f"{about['title']}: {about['about']} ({about['source'].rstrip('.')}).",
        (
            f"{count(items['n'])} items of {units(int(items['units']), items['unit'])}, each put "
            f"{'once' if repeats == 1 else f'{repeats} times'}; {count(counts.get('answered'))} of "
            f"{count(counts.get('planned'))} planned answers came."
        ),
        _asked_models(record, identity["targets"]),
    ]
    if identity.get("judges"):
        sentences.append(f"Answers were read by {listed_all(list(identity['judges']))}.")
    chosen = {name: value for name, value in identity.get("options", {}).items() if value}
    if chosen:
        sentences.append(
            "Options: " + ", ".join(_option(name, value) for name, value in chosen.items()) + "."
        )
    if days := _days(record):
        sentences.append(f"All was asked {days}.")
    shown, tables = _shown(run)
    return [
        ("Design", " ".join(sentences)), ("Tests", _tests(run.estimates)), *shown,
        *_limits(record),
    ], tables  # fmt: skip


def _comparison(run: JobRun) -> tuple[list[Said], list[Table]]:
    record = run.record
    names = [str(one["name"]) for one in record["runs"]]
    margin = record.get("margin")
    if record["of"] == "panel":
        what = (
            f"Scores of {listed_all(names)} were compared within prompts, over the judges that "
            "scored both sides."
        )
    else:
        what = (
            f"{record['title']}: the run {names[1]} was held against {names[0]}, a figure before "
            "and after on the items that both have, letter for letter. A change is the value "
            "after less that before."
        )
    sentences = [
        what,
        f"What lies within ±{margin:g} by its interval counts as alike." if margin else "",
    ]
    shown, tables = _shown(run)
    design = " ".join(one for one in sentences if one)
    return [("Design", design), ("Tests", _tests(run.estimates)), *shown], tables


METHODS: Final[dict[str, Callable[[Any], tuple[list[Said], list[Table]]]]] = {
    "panel": _panel,
    "stress": _stress,
    "calibration": _calibration,
    "audit": _audit,
    "comparison": _comparison,
}
"""Kind of a run to the function that makes its paragraphs and tables."""


# What makes it the same again ---------------------------------------------------------------------


def _reproducible(run: JobRun) -> Said:
    versions = run.record.get("versions", {})
    told = [
        f"Areopagus {versions.get('areopagus', 'of an unknown version')}"
        + "".join(
            f", {name} {versions[name]}" for name in ("litellm", "langgraph") if name in versions
        )
        + "."
    ]
    identity = run.record.get("identity")
    if identity:
        told.append(f"Identity of the run: SHA-256 {run_identity_hash(identity)}.")
    told.append(f"The folder's {RUN_FILE} holds all settings and the hashes of all files used.")
    return "Reproducibility", " ".join(told)


def _hashes(record: Mapping[str, Any]) -> Iterator[Said]:
    identity = record.get("identity") or {}
    panel = identity.get("panel") or (record.get("panel") if "criteria" in record.get("panel", {})
                                      else identity)  # fmt: skip
    for name in ("rubric", "template"):
        one = (panel or {}).get(name) or {}
        if one.get("sha256"):
            yield f"{name} {one.get('id')}:", one["sha256"]
    for name, digest in ((panel or {}).get("personas") or {}).items():
        if digest:
            yield f"persona {name}:", str(digest)
    for name in ("responses_sha256", "prompts_sha256", "items_sha256"):
        if identity.get(name):
            yield f"{name.removesuffix('_sha256')}:", str(identity[name])
