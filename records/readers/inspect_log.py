"""Reads the samples of an Inspect AI log (`.eval`, or its `.json` form); needs no Inspect.

A `.eval` file is a zip archive of JSON documents: `header.json` (of an evaluation that broke off,
`_journal/start.json`) names the model, and `samples/ID_epoch_N.json` hold the samples, one each.
Documents are read one at a time, and as far as the limits of a table go.

A sample that has no response, because it ended in an error or the model said nothing, is a row
without response_text whose `no_response` names the reason: see `responses.ResponseSource`.
"""

from __future__ import annotations

import lzma
import math
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from ..chat import content_text, prompt_text
from .rows import FaultSink, Row, read_limits
from .text import JSON_LIMIT_BYTES, parse_json

HEADER_FILES = ("header.json", "_journal/start.json")
"""Where a log says what was evaluated, the first that it has counting."""

NO_RESPONSE = "no_response"
"""The column that says why a sample has no response."""

_ZSTD = 93
"""Inspect packs with Zstandard, which Python's zipfile reads from 3.14 on."""

_NOT_REACHED = "the evaluation broke off before it"
_WHERE = "not readable as an Inspect log"

_OTHER_FORM = (AttributeError, KeyError, TypeError)
"""What a document runs into that has a number or a text where a log has a list or an object."""

_BROKEN = (
    OSError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    struct.error,
    RuntimeError,  # packed in a way that zipfile does not know, or encrypted
)


def log_response_id(sample_id: str | int, epoch: int) -> str:
    """The response_id of a sample: Inspect's own name of its document."""
    return f"{sample_id}_epoch_{epoch}"


RowOf = Callable[[int, Any, Mapping[str, Any]], Row]
"""What makes the row of a sample; as `log_row`."""


def read_eval_log(path: Path, sink: FaultSink, row_of: RowOf | None = None) -> Iterator[Row]:
    """Returns a row for every sample of a `.eval` file, in the file's order: `log_row`'s."""
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            # A document that was written anew stands twice, and the later one counts.
            names = list(dict.fromkeys(archive.namelist()))
            unpacked = sum(archive.getinfo(name).file_size for name in names)
            if fault := read_limits().bytes_fault(unpacked):
                sink.report(None, fault)
                return
            header = next((name for name in HEADER_FILES if name in names), None)
            if header is None:
                sink.report(None, f"{_WHERE}: it has no {HEADER_FILES[0]}")
                return
            yield from _rows(
                _document(archive, file, header),
                (_sample(archive, file, name) for name in names if _is_sample(name)),
                row_of or log_row,
            )
    except _BROKEN as error:
        sink.report(None, f"{_WHERE}: {error}"[:300])


def is_log(content: Any) -> bool:
    """Whether a JSON document is an Inspect log."""
    return isinstance(content, dict) and {"version", "status", "eval", "plan"} <= content.keys()


def log_rows(
    content: Mapping[str, Any], sink: FaultSink, row_of: RowOf | None = None
) -> Iterator[Row]:
    """Returns the rows of a log in its JSON form; by default `log_row`'s."""
    try:
        samples = content.get("samples") or []
        if not isinstance(samples, list):
            raise ValueError("its samples are no list")
        yield from _rows(content, iter(samples), row_of or log_row)
    except ValueError as error:
        sink.report(None, f"{_WHERE}: {error}"[:300])


def _rows(header: Any, samples: Iterator[Any], row_of: RowOf) -> Iterator[Row]:
    evaluation = header.get("eval") if isinstance(header, Mapping) else None
    if not isinstance(evaluation, Mapping) or not isinstance(evaluation.get("model"), str):
        raise ValueError("its header does not say which model was evaluated")
    seen: set[str] = set()
    number = 0
    for number, sample in enumerate(samples, start=1):
        try:
            row = row_of(number, sample, evaluation)
        except _OTHER_FORM as error:
            raise ValueError(f"sample {number} is not in the form of one ({error})") from error
        seen.add(row.values["response_id"])
        yield row
    if header.get("status") != "success":
        for missing in _planned(evaluation):
            if missing not in seen:
                number += 1
                lacking = {"response_id": missing, "response_text": None, NO_RESPONSE: _NOT_REACHED}
                yield Row(number, lacking)


def _planned(evaluation: Mapping[str, Any]) -> Iterator[str]:
    """The responses that the evaluation was to have, as far as it says."""
    config, dataset = evaluation.get("config") or {}, evaluation.get("dataset") or {}
    try:
        epochs, ids = config.get("epochs") or 1, list(dataset.get("sample_ids") or ())
        planned = range(1, epochs + 1) if ids else ()
    except _OTHER_FORM as error:
        raise ValueError(f"its header does not say what was planned ({error})") from error
    for epoch in planned:
        for sample_id in ids:
            yield log_response_id(sample_id, epoch)


def log_row(number: int, sample: Any, evaluation: Mapping[str, Any]) -> Row:
    """The row of a sample.

    prompt_text is the sample's input (with the choices that it offers), response_text the text of
    the model's output, prompt_id the sample's id; each (id, epoch) is a response. Carried along:
    `sample_id`, `epoch`, `task`, `target`, `limit` (what stopped it, where something did),
    `score_NAME` or `score_NAME_KEY` of the scores that it has, and `metadata_KEY`; of these, what
    is one text, number or truth value.

    Args:
        number: of the sample in the log, from 1.
        sample: the document.
        evaluation: the header's `eval`.

    Raises:
        ValueError: it is no sample.
    """
    if not isinstance(sample, Mapping) or "id" not in sample or "input" not in sample:
        raise ValueError(f"sample {number} has no id or no input")
    sample_id, epoch = sample["id"], sample.get("epoch", 1)
    row: dict[str, Any] = {
        "response_id": log_response_id(sample_id, epoch),
        "prompt_id": str(sample_id),
        "prompt_text": asked(sample["input"], sample.get("choices") or ()),
        "response_text": None,
        "respondent_id": evaluation["model"],
        "sample_id": sample_id,
        "epoch": epoch,
        "task": evaluation.get("task"),
    }
    why_not, text = _answered(sample)
    row["response_text"] = text
    if why_not is not None:
        row[NO_RESPONSE] = why_not
    _carry(row, "target", sample.get("target"))
    if limit := sample.get("limit"):
        row["limit"] = limit.get("type") if isinstance(limit, Mapping) else str(limit)
    for name, score in (sample.get("scores") or {}).items():
        _carry(row, f"score_{name}", score.get("value") if isinstance(score, Mapping) else None)
    for name, value in (sample.get("metadata") or {}).items():
        _carry(row, f"metadata_{name}", value)
    return Row(number, row)


def asked(given: Any, choices: Sequence[str]) -> str | None:
    """What a sample asks, as one text: its input, and the choices that it offers."""
    text = prompt_text(given)
    if text is None or not choices:
        return text
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    offered = [f"{letters[at % 26]}) {choice}" for at, choice in enumerate(choices)]
    return "\n".join([text, "", *offered])


def _answered(sample: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Why a sample has no response, and the response."""
    if sample.get("error"):
        return "it ended in an error", None
    if sample.get("invalidation"):
        return "it is marked as invalid", None
    output = sample.get("output") or {}
    choices = output.get("choices") or ()
    text = content_text((choices[0].get("message") or {}).get("content")) if choices else None
    if not text and output.get("error"):
        return "the model's endpoint reported an error", None
    if choices:
        return None, text or ""
    limit = sample.get("limit")
    kind = limit.get("type") if isinstance(limit, Mapping) else None
    if kind:
        return f"its {kind} limit stopped it before there was an output", None
    return "it has no output", None


def _carry(row: dict[str, Any], name: str, value: Any) -> None:
    if isinstance(value, Mapping):
        if name.startswith("score_"):
            for key, inner in value.items():
                _carry(row, f"{name}_{key}", None if isinstance(inner, Mapping) else inner)
    elif isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        row.setdefault(name, value)


def _is_sample(name: str) -> bool:
    if not name.startswith("samples/"):
        return False
    if name.endswith("/sample.json"):
        return True
    # Ids may hold slashes: what tells a sample from a part of one is the end of its name.
    stem, epoch = name.rpartition("_epoch_")[::2]
    return bool(stem) and epoch.removesuffix(".json").isdigit() and epoch.endswith(".json")


def _sample(archive: zipfile.ZipFile, file: IO[bytes], name: str) -> Any:
    sample = _document(archive, file, name)
    # Of a sample that is stored in parts, its metadata are one.
    part = name.removesuffix("/sample.json") + "/metadata.json"
    if part in archive.NameToInfo and isinstance(sample, dict):
        sample["metadata"] = _document(archive, file, part)
    return sample


def _document(archive: zipfile.ZipFile, file: IO[bytes], name: str) -> Any:
    """One document, which may have `JSON_LIMIT_BYTES`; never more is unpacked than it claims."""
    entry = archive.getinfo(name)
    if entry.file_size > JSON_LIMIT_BYTES:
        raise ValueError(f"{name} is longer than {JSON_LIMIT_BYTES:,} bytes")
    if entry.compress_type == _ZSTD:
        raw = _unpacked(entry, file)
    else:
        with archive.open(entry) as opened:
            raw = opened.read(entry.file_size + 1)
    try:
        return parse_json(raw.decode("utf-8"))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _unpacked(entry: zipfile.ZipInfo, file: IO[bytes]) -> bytes:
    import pyarrow as pa

    file.seek(entry.header_offset)
    head = file.read(30)  # a local header; what stands behind it has lengths of its own
    n_name, n_extra = struct.unpack("<HH", head[26:30])
    file.seek(n_name + n_extra, 1)
    packed = file.read(entry.compress_size)
    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
        raw: bytes = stream.read(entry.file_size + 1)
    if len(raw) != entry.file_size or zlib.crc32(raw) != entry.CRC:
        raise ValueError(f"{entry.filename} is broken")
    return raw
