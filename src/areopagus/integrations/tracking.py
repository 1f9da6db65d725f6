"""What tracking tools are told of a finished run.

Two kinds of tools. MLflow and Weights & Biases take a run as a whole: parameters, one metric for
each figure of the estimates, tags and files (`TrackedRun`). OpenTelemetry, Phoenix and Langfuse
take the scores of each response beside the trace in which it was written (`TrackedResponse`).

Texts stay at home unless they are asked for: report.html, what judges wrote, and the columns that
the input carried are left out. Paths of this machine, addresses' passwords and keys never go.
"""

from __future__ import annotations

import hashlib
import json
import math
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from ..any_report import run_of
from ..errors import InputError, InputFault
from ..records.estimates import ESTIMATES_CSV, KEYS
from ..records.run_folder import (
    JUDGMENTS_FILE,
    REPORT_FILE,
    SCORES_FILE,
    panel_of,
    run_identity_hash,
)
from ..records.tables import read_scores, score_frame, score_header
from ..records.types import Verdict
from ..run import JobRun, Run

if TYPE_CHECKING:
    import pandas as pd

MOST_PARAMETER: Final = 500
"""Characters of a parameter: what the oldest MLflow servers in use take."""
MOST_NAME: Final = 250
"""Characters of a name, in MLflow."""

_PARAMETERS: Final = ("kind", "demonstration", "source", "identity", "config", "responses")
_OF_PANEL: Final = ("quorum", "models", "target")
_PRIVATE: Final = re.compile(
    r"(^|[._-])(api_?key|key|token|secret|password|credentials?|authorization|headers?)($|[._-])",
    re.IGNORECASE,
)
_FILE: Final = re.compile(r"(?:^|[.])(?:source|.*_file|.*_dir|.*_path|ledger|out)$")
_WRITTEN_BY_JUDGES: Final = ("rationale", "detail")
_NOT_LEGAL: Final = re.compile(r"[^\w.\- ]")


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of it.

    Attributes:
        answer: one sentence.
        counts: what was sent, or would be, by kind.
        remarks: (what it is about, sentence).
        place: where it stands in the tool; None where it stands nowhere yet.
        samples: (kind or response, name, value) of what would be sent.
    """

    answer: str
    counts: Mapping[str, int]
    remarks: Sequence[tuple[str, str]] = ()
    place: str | None = None
    samples: Sequence[tuple[str, str, str]] = ()


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """What is told of a run as a whole.

    Attributes:
        name: the folder's.
        identity: SHA-256 of what makes the run this run: its responses and its panel.
        description: the first sentences of its report.
        parameters: what was asked of whom, flat, of at most `MOST_PARAMETER` characters each.
        metrics: a name for each figure; beside it `.low`, `.high` and `.n` where they are there.
        tags: what may change while the run goes on, and how many figures are undefined.
        n_estimates, n_undefined: figures, and those of them that have no value and are left out.
        n_cut: parameters that were longer.
    """

    name: str
    identity: str
    description: str
    parameters: Mapping[str, str | int | float | bool]
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    n_estimates: int
    n_undefined: int
    n_cut: int

    @property
    def content(self) -> str:
        """SHA-256 of all of it: the same run with the same figures is logged once."""
        told = [dict(self.parameters), dict(self.metrics), dict(self.tags), self.description]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def tracked_run(
    run: JobRun | str | Path, *, tables: Sequence[str] = (), texts: bool = False
) -> TrackedRun:
    """What is told of a run as a whole.

    Args:
        run: a run of any kind, or its folder.
        tables: of the estimates; all when left out.
        texts: whether texts go with it; see `artifacts`.

    Raises:
        InputError: no run, no estimates, or no such table.
    """
    run = run if isinstance(run, JobRun) else run_of(run)
    run.require_estimates()
    frame = run.estimates
    if wrong := sorted(set(tables) - set(frame["table"])):
        known = ", ".join(dict.fromkeys(frame["table"]))
        raise InputError(
            [InputFault(str(run.path), f"has no table {', '.join(wrong)}")], hint=f"It has: {known}"
        )
    if tables:
        frame = frame[frame["table"].isin(tables)]
    metrics, n_undefined = metrics_of(frame)
    parameters, n_cut = parameters_of(run.record)
    document = run.document()
    identity = run_identity_hash(run.record.get("identity") or {"estimates": _digest_of(run)})
    tags = {
        "areopagus.identity": identity,
        "areopagus.kind": run.kind,
        "areopagus.state": run.state,
        "areopagus.estimates": str(len(frame)),
        "areopagus.undefined_estimates": str(n_undefined),
        "areopagus.texts": "sent" if texts else "left out",
    }
    for name, version in dict(run.record.get("versions", {})).items():
        tags[f"areopagus.version.{name}"] = str(version)
    if run.record.get("demonstration"):
        tags["areopagus.demonstration"] = "true"
    return TrackedRun(
        name=run.path.resolve().name,
        identity=identity,
        description="\n\n".join([*document.notices, *document.headline]),
        parameters=parameters,
        metrics=metrics,
        tags=tags,
        n_estimates=len(frame),
        n_undefined=n_undefined,
        n_cut=n_cut,
    )


def _digest_of(run: JobRun) -> str:
    # A calibration has no run.json: it is the same when its figures are.
    return hashlib.sha256((run.path / ESTIMATES_CSV).read_bytes()).hexdigest()


# Metrics


def metrics_of(frame: pd.DataFrame) -> tuple[dict[str, float], int]:
    """A metric for each figure that has a value, and how many have none.

    Named `table/measure/key/key`, the keys in their order and those without a part in it left out,
    with `/judges like these` at the end where the interval generalises further than to this panel.
    """
    found: dict[str, float] = {}
    n_undefined = 0
    rows: list[dict[Any, Any]] = frame.to_dict("records")
    names = [_metric_name(row) for row in rows]
    taken: dict[str, int] = {}
    for name in names:
        taken[name] = taken.get(name, 0) + 1
    for row, name in zip(rows, names, strict=True):
        if not _is_finite(row["value"]):
            n_undefined += 1
            continue
        unique = name if taken[name] == 1 else _metric_name(row, with_keys=True)
        for column, ending in (("value", ""), ("low", ".low"), ("high", ".high"), ("n", ".n")):
            if column == "n" and not row["unit"]:
                continue  # a bare number, such as a count, rests on nothing
            if _is_finite(row[column]):
                found[unique + ending] = float(row[column])
    return found, n_undefined


def _metric_name(row: Mapping[str, Any], *, with_keys: bool = False) -> str:
    keys = [(name, str(row[name])) for name in KEYS if isinstance(row[name], str)]
    parts = [str(row["table"]), str(row["measure"])]
    parts += [f"{name} {value}" if with_keys else value for name, value in keys]
    if isinstance(row["universe"], str) and row["universe"] != "this panel":
        parts.append(row["universe"])
    return legal_name("/".join(parts), most=MOST_NAME - len(".high"))


def legal_name(name: str, *, most: int = MOST_NAME) -> str:
    """The name in letters, digits and `_ - . / blank`, which every tool takes.

    Where that changes it, a few digits of its hash stand behind, so that no two become one.
    """
    pieces = [_NOT_LEGAL.sub("_", piece) for piece in name.split("/")]
    made = "/".join("_" if piece in ("", ".", "..") else piece for piece in pieces)
    if made == name and len(name) <= most and posixpath.normpath(name) == name:
        return name
    return f"{made[: most - 7]}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def _is_finite(value: Any) -> bool:
    # Whole numbers are pandas' own, whose missing value is no float.
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


# Parameters


def parameters_of(record: Mapping[str, Any]) -> tuple[dict[str, str | int | float | bool], int]:
    """What run.json says of what was asked of whom, flat; and how many values had to be cut.

    Left out are keys and what is named like one. Of a path the file's name stays, of an address
    neither user nor password.
    """
    told = {name: record[name] for name in _PARAMETERS if name in record}
    panel = record.get("panel") or {}
    told["panel"] = {name: panel[name] for name in _OF_PANEL if name in panel}
    found: dict[str, str | int | float | bool] = {}
    n_cut = 0
    for name, value in _flat(told):
        if _PRIVATE.search(name):
            continue
        plain = _without_path(name, value) if isinstance(value, str) else value
        if isinstance(plain, str) and len(plain) > MOST_PARAMETER:
            plain, n_cut = plain[: MOST_PARAMETER - 1] + "…", n_cut + 1
        found[legal_name(name)] = plain
    return found, n_cut


def _flat(value: Any, prefix: str = "") -> Iterator[tuple[str, str | int | float | bool]]:
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield from _flat(one, f"{prefix}.{name}" if prefix else str(name))
    elif isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
        for place, one in enumerate(value):
            named = one.get("id") or one.get("name") if isinstance(one, Mapping) else None
            yield from _flat(one, f"{prefix}.{named or place}")
    elif isinstance(value, list):
        plain = (_without_path(prefix, one) if isinstance(one, str) else one for one in value)
        yield prefix, ", ".join(map(str, plain))
    elif value is not None and (not isinstance(value, float) or math.isfinite(value)):
        yield prefix, value


def _without_path(name: str, value: str) -> str:
    if "://" in value:
        parts = urlsplit(value)
        host = parts.netloc.rpartition("@")[2]
        return f"{parts.scheme}://{host}{parts.path}" if parts.scheme != "file" else _last(value)
    is_path = value.startswith(("/", "~", "\\", "./", "../")) or re.match(r"^[A-Za-z]:[\\/]", value)
    return _last(value) if is_path or _FILE.search(name) else value


def _last(path: str) -> str:
    return PureWindowsPath(path).name  # of either kind of separator


# Files


@contextmanager
def artifacts(run: JobRun, *, texts: bool = False) -> Iterator[dict[str, Path]]:
    """Name to file of what goes along: estimates.csv, and of a panel's run both tables.

    Without texts the tables lack what judges wrote (`rationale`, `detail`) and the columns that the
    input carried, and there is no report.html, which quotes.

    Raises:
        InputError: a table cannot be read.
    """
    found = {ESTIMATES_CSV: run.path / ESTIMATES_CSV}
    with TemporaryDirectory(prefix="areopagus-tracking-") as made:
        if isinstance(run, Run) and texts:
            found |= {name: run.path / name for name in (SCORES_FILE, JUDGMENTS_FILE)}
        elif isinstance(run, Run):
            scores = found[SCORES_FILE] = Path(made) / SCORES_FILE
            own_scores(run).to_csv(scores, index=False, lineterminator="\n")
            judgments = found[JUDGMENTS_FILE] = Path(made) / JUDGMENTS_FILE
            _write_without_words(run.path / JUDGMENTS_FILE, judgments)
        if texts:
            found[REPORT_FILE] = run.path / REPORT_FILE
        yield {name: path for name, path in found.items() if path.is_file()}


def _write_without_words(source: Path, target: Path) -> None:
    """Copies judgments.parquet without what judges wrote; it may have millions of rows."""
    import pyarrow.parquet as parquet

    try:
        with parquet.ParquetFile(source) as file:
            names = [name for name in file.schema_arrow.names if name not in _WRITTEN_BY_JUDGES]
            schema = file.schema_arrow
            for name in set(schema.names) - set(names):
                schema = schema.remove(schema.get_field_index(name))
            with parquet.ParquetWriter(target, schema, compression="zstd") as copy:
                for batch in file.iter_batches(columns=names):
                    copy.write_batch(batch)
    except (OSError, ValueError) as error:
        raise InputError([InputFault(str(source), f"cannot be read: {error}")]) from error


def own_scores(run: Run) -> pd.DataFrame:
    """scores.csv without the columns that the input carried, which may be texts."""
    frame = score_frame(run.path)
    panel, identity = run.record["panel"], run.record["identity"]
    personas = panel["personas"]
    own = score_header(
        identity["criteria"],
        [one["id"] for one in personas],
        [one["name"] for one in panel["models"]],
        [one["axis"] for one in personas],
    )
    return frame[[name for name in frame.columns if name in set(own)]]


# Responses


@dataclass(frozen=True, slots=True)
class TrackedResponse:
    """The panel's verdict on a response, and where it was written.

    Attributes:
        verdict: without its judgments.
        trace_id, span_id, observation_id: as its row of the input has them; "" where it has none.
        provider_id: the provider's id of the response, where the input has it; else our own.
    """

    verdict: Verdict
    trace_id: str
    span_id: str
    observation_id: str
    provider_id: str


ID_COLUMNS: Final = ("trace_id", "span_id", "observation_id")
PROVIDER_ID_COLUMNS: Final = ("gen_ai.response.id", "gen_ai_response_id")


def tracked_responses(run: Run) -> list[TrackedResponse]:
    """The verdicts of a stored run, in order.

    Raises:
        InputError: no scores, or ids that are no ids of OpenTelemetry.
    """
    criteria = run.record["identity"]["criteria"]
    found, faults = [], []
    for line, row in enumerate(read_scores(run.path), start=2):
        trace_id, span_id, observation = (row.get(name, "").strip() for name in ID_COLUMNS)
        provider = next((row[name] for name in PROVIDER_ID_COLUMNS if row.get(name)), "")
        verdict = _stored_verdict(row, criteria)
        own = provider or verdict.response_id
        found.append(TrackedResponse(verdict, trace_id, span_id, observation, own))
        for name, value, length in (("trace_id", trace_id, 32), ("span_id", span_id, 16)):
            if value and not re.fullmatch(rf"[0-9a-fA-F]{{{length}}}", value):
                where = f"{run.path / SCORES_FILE}:{line}"
                faults.append(
                    InputFault(where, f"{name}: must be {length} hexadecimal digits, got {value!r}")
                )
    if faults:
        raise InputError(faults)
    return found


def _stored_verdict(row: Mapping[str, str], criteria: Iterable[str]) -> Verdict:
    def value(name: str) -> float | None:
        return float(row[name]) if row.get(name) else None

    def limits(name: str) -> tuple[float, float] | None:
        low, high = value(f"{name}_low"), value(f"{name}_high")
        return None if low is None or high is None else (low, high)

    return Verdict(
        response_id=row["response_id"],
        prompt_id=row["prompt_id"],
        respondent_id=row["respondent_id"],
        status=row["status"],  # type: ignore[arg-type]
        reason=row["reason"] or None,
        composite=value("composite"),
        dimensions={name: value(name) for name in criteria},
        interval=limits("composite"),
        interval_method=row["interval_method"] or None,
        interval_reason=row["interval_reason"] or None,
        dimension_intervals={name: limits(name) for name in criteria},
        median=value("median"),
        trimmed_mean=value("trimmed_mean"),
        sd=value("sd"),
        by_persona={},
        by_model={},
        by_axis={},
        disagreement=row["disagreement"],
        share_abstained=value("share_abstained"),
        n_scored=int(row["n_scored"]),
        n_planned=int(row["n_planned"]),
        counts={},
    )


def panel_hash(record: Mapping[str, Any]) -> str:
    """A short name of the panel, the same for whatever it judges."""
    return run_identity_hash(panel_of(record["identity"]))[:16]


def shown_address(to: str) -> str:
    """The target as it may be printed: without user and password, which may stand in its query."""
    return re.sub(r"(?<=://)\S*@", "", to.partition("?")[0])


def missing(package: str, error: ImportError) -> InputError:
    """What is raised where a tool's package is not installed."""
    return InputError(
        f"this needs the package {package} ({error})", hint=f"Install it: pip install {package}"
    )
