"""Reads outputs that other tools saved, as responses; needs none of the tools.

- lm-evaluation-harness: `samples_TASK_DATE.jsonl` (checked against 0.4.13)
- HELM: `scenario_state.json` (checked against 0.5.16)
- OpenAI: the output and error files of a batch (chat completions, completions, responses)
- Anthropic: the results of a message batch
- of both, the batch's input, which holds the prompts

A file is known by the keys of its first record. An output that is no response (an error, a
log-likelihood) is a row without response_text whose `no_response` names the reason, as in
`inspect_log`: it is counted and left out, never an empty response. A text that was cut off at its
length limit is a response, as in `respond`; its finish_reason is carried.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..chat import FILTERED_ENDINGS, TRUNCATED_ENDINGS, content_text, prompt_text
from .inspect_log import NO_RESPONSE
from .rows import FaultSink, Row, read_limits
from .text import JSON_LIMIT_BYTES, parse_json, read_json, read_json_lines

CUT_OFF: Final = "cut off at its length limit before any text"
FILTERED: Final = "stopped by a content filter"
NO_TEXT: Final = "it has no text"
NOT_WRITTEN: Final = "a log-likelihood was asked for, and no text was written"

Values = dict[str, Any]
RecordReader = Callable[[Any], Iterator[Values]]


class SavedKind(NamedTuple):
    """One kind of file.

    Attributes:
        title: what messages call it.
        keys: those that its records have, as messages name them.
        fits: whether a record is of this kind.
        opened: takes the file's path and first record, and returns what makes rows of a record. It
            raises ValueError for a record that lacks what it needs.
        parts: the records of a file that is one JSON document.
    """

    title: str
    keys: str
    fits: Callable[[Mapping[str, Any]], bool]
    opened: Callable[[Path, Mapping[str, Any]], RecordReader]
    parts: Callable[[Mapping[str, Any]], Iterable[Any]] | None = None


def read_saved(path: Path, sink: FaultSink, *, kind: str | None = None) -> Iterator[Row]:
    """Returns the rows of JSON or JSON lines: a saved output's responses, or any other as it is.

    Args:
        path: the file.
        sink: takes the faults.
        kind: one of `SAVED_KINDS`; by default the first record says.
    """
    is_json = Path(path.name.lower().removesuffix(".gz")).suffix == ".json"
    read = read_json if is_json else read_json_lines
    yield from saved_rows(read(path, sink), path, sink, kind=kind)


def saved_rows(
    records: Iterator[Row], path: Path, sink: FaultSink, *, kind: str | None = None
) -> Iterator[Row]:
    """Returns the responses in the records of a file; records of no kind as they are."""
    first = next(records, None)
    if first is None:
        return
    found = next((one for one in SAVED_KINDS.values() if one.fits(first.values)), None)
    chosen = found if kind is None else SAVED_KINDS[kind]
    if chosen is None:
        yield first
        yield from records
        return
    if found is not chosen:
        seen = f"looks like {found.title}" if found else f"has the keys {_shown(first.values)}"
        needed = f"is no record of {chosen.title}, which has {chosen.keys}"
        sink.report(first.line, f"{needed}; this one {seen}")
        return
    rows_of = chosen.opened(path, first.values)
    for line, record in _parts(chosen, itertools.chain([first], records), sink):
        try:
            rows = [*rows_of(record)]
        # Of others' files anything may be a number or a text where a list or an object should be.
        except (ValueError, AttributeError, KeyError, TypeError) as error:
            sink.report(line, f"not readable as {chosen.title}: {error}"[:300])
            continue
        for values in rows:
            yield Row(line, values)


def _parts(kind: SavedKind, records: Iterable[Row], sink: FaultSink) -> Iterator[tuple[int, Any]]:
    for line, record in records:
        if not kind.fits(record):
            sink.report(line, f"not readable as {kind.title}: it has no {kind.keys}")
        elif kind.parts is None:
            yield line, record
        else:
            yield from enumerate(kind.parts(record), start=1)


def _shown(record: Mapping[str, Any]) -> str:
    names = [str(name)[:40] for name in record]
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")


# What is common to them --------------------------------------------------------------------------


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} is no JSON object")
    return value


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{what} is no list")
    return value


def _required(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise ValueError(f"its {name} is neither text nor a whole number")
    return str(value)


def _numbered(prompt_id: str, n: int) -> Iterator[str]:
    """The response_ids of a prompt's n responses."""
    return (prompt_id if n == 1 else f"{prompt_id}_{place}" for place in range(n))


def _outcome(text: Any, ending: Any) -> Values:
    """response_text, or why there is none; an empty text that ended as it should is a response."""
    ended = ending if isinstance(ending, str) else ""
    why: str | None = None
    if ended.lower() in TRUNCATED_ENDINGS and not text:
        why = CUT_OFF
    elif ended.lower() in FILTERED_ENDINGS:
        why = FILTERED
    elif not isinstance(text, str):
        is_tool = ended in ("tool_calls", "tool_use", "function_call")
        why = "it calls a tool and has no text" if is_tool else NO_TEXT
    found: Values = {"response_text": None, NO_RESPONSE: why} if why else {"response_text": text}
    return found | ({"finish_reason": ended} if ended else {})


def _nothing(response_id: str, why: str) -> Values:
    return {"response_id": response_id, "response_text": None, NO_RESPONSE: why}


def _carried(values: Mapping[str, Any]) -> Values:
    """Of what a record says beside texts, what is one text, number or truth value."""
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
    }


# lm-evaluation-harness ---------------------------------------------------------------------------

_SAMPLES_FILE = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl(\.gz)?")


def _is_sample(record: Mapping[str, Any]) -> bool:
    return {"doc_id", "arguments"} <= record.keys() and (
        "resps" in record or "filtered_resps" in record
    )


def _samples(path: Path, first: Mapping[str, Any]) -> RecordReader:
    named = _SAMPLES_FILE.fullmatch(path.name)
    run: Values = {"task": named["task"]} if named else {}
    if named and (model := _model_of(path.parent, named["date"])):
        run["respondent_id"] = model
    first_filter = first.get("filter")
    seen: set[str] = set()

    def rows(sample: Mapping[str, Any]) -> Iterator[Values]:
        doc_id = _required(sample, "doc_id")
        if sample.get("filter") != first_filter and doc_id in seen:
            return  # the same responses once more, as another filter takes answers out of them
        seen.add(doc_id)
        scores = {f"score_{one}": sample.get(one) for one in sample.get("metrics") or ()}
        about = run | _carried({"target": sample.get("target"), **scores})
        asked = _arguments(sample["arguments"])
        # What the model wrote; a filter keeps of it what a metric compares.
        written = _list(sample.get("resps", sample.get("filtered_resps")), "resps")
        if not asked or len(asked) != len(written):
            raise ValueError(f"it has {len(asked)} requests and {len(written)} answers")
        if any(len(one) < 2 or isinstance(one[1], str) for one in asked):
            yield _nothing(doc_id, NOT_WRITTEN)
            return
        for prompt_id, request, texts in zip(
            _numbered(doc_id, len(asked)), asked, written, strict=True
        ):
            several = texts if isinstance(texts, list) else [texts]
            prompt = {"prompt_id": prompt_id, "prompt_text": _context(request[0])}
            for response_id, text in zip(_numbered(prompt_id, len(several)), several, strict=True):
                yield {"response_id": response_id} | prompt | _outcome(text, None) | about

    return rows


def _arguments(value: Any) -> list[list[Any]]:
    """Each request's arguments: lists, or as files have them, gen_args_0: {arg_0, arg_1}."""
    if isinstance(value, Mapping):
        value = list(value.values())
    return [
        list(one.values()) if isinstance(one, Mapping) else _list(one, "a request")
        for one in _list(value, "arguments")
    ]


def _context(value: Any) -> str | None:
    """The prompt of a request; chat messages stand in a list, as JSON text or as they are."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        text: str = value[0]
        try:
            return prompt_text(json.loads(text)) or text
        except (ValueError, RecursionError):
            return text
    return prompt_text(value)


def _model_of(folder: Path, date: str) -> str | None:
    """The model's name in the file of results that was written with the samples."""
    for path in sorted(folder.glob(f"*_{date}.json")):
        try:
            if path.stat().st_size > JSON_LIMIT_BYTES or read_limits().bytes < path.stat().st_size:
                continue
            results = parse_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(results, dict) and isinstance(results.get("model_name"), str):
            return str(results["model_name"])
    return None


# HELM --------------------------------------------------------------------------------------------


def _is_state(record: Mapping[str, Any]) -> bool:
    states = record.get("request_states")
    return isinstance(states, list) and isinstance(record.get("adapter_spec"), Mapping)


def _states(_: Path, document: Mapping[str, Any]) -> RecordReader:
    adapter = document["adapter_spec"]
    model = adapter.get("model") or adapter.get("model_deployment")
    # Several perturbations may have one name, such as dialect with other word lists.
    labels: dict[str, str] = {}
    n_named: dict[str, int] = {}

    def label(perturbation: Mapping[str, Any]) -> str:
        key = json.dumps({k: v for k, v in perturbation.items() if k != "seed"}, sort_keys=True)
        if key not in labels:
            name = str(perturbation.get("name", "perturbed"))
            n_named[name] = n_named.get(name, 0) + 1
            labels[key] = name if n_named[name] == 1 else f"{name}-{n_named[name]}"
        return labels[key]

    def rows(state: Any) -> Iterator[Values]:
        state = _mapping(state, "it")
        instance = _mapping(state.get("instance"), "its instance")
        request = _mapping(state.get("request"), "its request")
        about = _carried({name: instance.get(name) for name in ("split", "sub_split")})
        prompt_id = _required(instance, "id")
        if perturbation := instance.get("perturbation"):
            about["perturbation"] = label(_mapping(perturbation, "its perturbation"))
            prompt_id += f"_{about['perturbation']}"
        # Trials have other examples in the prompt, so that each is a prompt of its own.
        if trial := state.get("train_trial_index"):
            prompt_id += f"_trial{trial}"
        about["train_trial_index"] = trial or 0
        if request.get("embedding") or request.get("max_tokens") == 0 or (
            state.get("reference_index") is not None
        ):  # fmt: skip
            part = "_".join(
                str(state[name]) for name in ("reference_index", "request_mode") if name in state
            )
            yield _nothing(f"{prompt_id}_{part}", NOT_WRITTEN)
            return
        result = state.get("result")
        if result is None:
            yield _nothing(prompt_id, "its request was not sent")
            return
        if not _mapping(result, "its result").get("success"):
            yield _nothing(prompt_id, "its request failed")
            return
        completions = _list(result.get("completions"), "completions")
        if not completions:
            yield _nothing(prompt_id, "it has no completion")
        prompt = {"prompt_id": prompt_id, "prompt_text": _asked(request)}
        for response_id, one in zip(
            _numbered(prompt_id, len(completions)), completions, strict=True
        ):
            completion = _mapping(one, "a completion")
            ending = completion.get("finish_reason")
            ending = ending.get("reason") if isinstance(ending, Mapping) else ending
            outcome = _outcome(completion.get("text"), ending)
            yield {"response_id": response_id, "respondent_id": model} | prompt | outcome | about

    return rows


def _asked(request: Mapping[str, Any]) -> str | None:
    if messages := request.get("messages"):
        return prompt_text(messages)
    if multimodal := request.get("multimodal_prompt"):
        return content_text(_mapping(multimodal, "its prompt").get("media_objects"))
    return prompt_text(request.get("prompt"))


# Batches of OpenAI and Anthropic -----------------------------------------------------------------


def _is_openai(record: Mapping[str, Any]) -> bool:
    response, error = record.get("response"), record.get("error")
    return "custom_id" in record and (
        (isinstance(response, Mapping) and ("body" in response or "status_code" in response))
        or (response is None and isinstance(error, Mapping))
    )


def _openai(_: Path, __: Mapping[str, Any]) -> RecordReader:
    return _openai_rows


def _openai_rows(record: Mapping[str, Any]) -> Iterator[Values]:
    custom_id = _required(record, "custom_id")
    failed = {"prompt_id": custom_id}
    if error := record.get("error"):
        yield _nothing(custom_id, _failed(_mapping(error, "its error").get("code"))) | failed
        return
    response = _mapping(record.get("response"), "its response")
    body = _mapping(response.get("body"), "its body")
    status = response.get("status_code", 200)
    if status != 200:
        about = body.get("error")
        code = (about.get("code") or about.get("type")) if isinstance(about, Mapping) else None
        yield _nothing(custom_id, _failed(code or f"HTTP {status}")) | failed
        return
    outcomes = [*_openai_outcomes(body)]
    if not outcomes:
        yield _nothing(custom_id, NO_TEXT) | failed
    yield from _answers(custom_id, body.get("model"), outcomes)


def _openai_outcomes(body: Mapping[str, Any]) -> Iterator[Values]:
    """Of each choice of a completion, or of the one response of the newer interface."""
    if isinstance(output := body.get("output"), list):
        said = [
            part
            for item in output
            if isinstance(item, Mapping) and item.get("type") == "message"
            for part in item.get("content") or ()
            if isinstance(part, Mapping)
        ]
        # A refusal is what the model answered.
        texts = [part.get("text", part.get("refusal")) for part in said]
        if body.get("status") in ("failed", "cancelled"):
            yield {"response_text": None, NO_RESPONSE: _failed(body["status"])}
            return
        why = body.get("incomplete_details")
        yield _outcome(content_text(texts), why.get("reason") if isinstance(why, Mapping) else None)
        return
    for choice in body.get("choices") or ():
        one = _mapping(choice, "a choice")
        message = one.get("message")
        text = one.get("text")
        if isinstance(message, Mapping):
            text = content_text(message.get("content"))
            text = message.get("refusal") if text is None else text
        yield _outcome(text, one.get("finish_reason"))


def _is_anthropic(record: Mapping[str, Any]) -> bool:
    result = record.get("result")
    return "custom_id" in record and isinstance(result, Mapping) and "type" in result


def _anthropic(_: Path, __: Mapping[str, Any]) -> RecordReader:
    return _anthropic_rows


def _anthropic_rows(record: Mapping[str, Any]) -> Iterator[Values]:
    custom_id = _required(record, "custom_id")
    result = record["result"]
    if result["type"] != "succeeded":
        about: Any = result.get("error")
        while isinstance(about, Mapping) and isinstance(about.get("error"), Mapping):
            about = about["error"]
        code = about.get("type") if isinstance(about, Mapping) else result["type"]
        yield _nothing(custom_id, _failed(code)) | {"prompt_id": custom_id}
        return
    message = _mapping(result.get("message"), "its message")
    content = message.get("content")
    ending = message.get("stop_reason")
    # A model that said nothing and ended its turn has answered with nothing.
    text = "" if content == [] and ending == "end_turn" else content_text(content)
    yield from _answers(custom_id, message.get("model"), [_outcome(text, ending)])


def _failed(code: Any) -> str:
    named = str(code or "no reason given").removeprefix("batch_")
    if named in ("expired", "cancelled", "canceled"):
        return (
            f"its request was {'canceled' if 'cancel' in named else 'not sent before it expired'}"
        )
    return f"its request failed ({named[:60]})"


def _answers(custom_id: str, model: Any, outcomes: list[Values]) -> Iterator[Values]:
    for response_id, outcome in zip(_numbered(custom_id, len(outcomes)), outcomes, strict=True):
        yield {"response_id": response_id, "prompt_id": custom_id, "respondent_id": model} | outcome


def _is_request(record: Mapping[str, Any]) -> bool:
    return "custom_id" in record and (
        isinstance(record.get("body"), Mapping) or isinstance(record.get("params"), Mapping)
    )


def _is_requests(record: Mapping[str, Any]) -> bool:
    requests = record.get("requests")
    return isinstance(requests, list) and all(
        isinstance(one, Mapping) and _is_request(one) for one in requests[:1]
    )


def _requests(_: Path, __: Mapping[str, Any]) -> RecordReader:
    return _request_rows


def _request_rows(record: Any) -> Iterator[Values]:
    record = _mapping(record, "it")
    custom_id = _required(record, "custom_id")
    body = _mapping(record.get("body", record.get("params")), "its body")
    given = next((body[name] for name in ("messages", "input", "prompt") if name in body), None)
    told = body.get("system") or body.get("instructions")
    if told and not isinstance(given, list):
        given = [{"role": "user", "content": given}]
    if isinstance(given, list):
        # Among the items of OpenAI's newer interface are some that nobody says.
        said = [one for one in given if isinstance(one, Mapping) and "role" in one]
        given = [{"role": "system", "content": told}, *said] if told else said
    if not (text := prompt_text(given)):
        raise ValueError("it has no text that was asked")
    yield {"prompt_id": custom_id, "prompt_text": text}


SAVED_KINDS: Final[dict[str, SavedKind]] = {
    "lm-eval": SavedKind(
        "samples of lm-evaluation-harness", "doc_id, arguments and resps", _is_sample, _samples
    ),
    "helm": SavedKind(
        "a scenario state of HELM", "adapter_spec and request_states", _is_state, _states,
        lambda document: document["request_states"],
    ),
    "openai-batch": SavedKind(
        "the output of an OpenAI batch", "custom_id, and response or error", _is_openai, _openai
    ),
    "anthropic-batch": SavedKind(
        "the results of an Anthropic batch", "custom_id and result", _is_anthropic, _anthropic
    ),
    "batch-input": SavedKind(
        "the input of a batch", "custom_id, and body or params", _is_request, _requests
    ),
    "batch-requests": SavedKind(
        "the input of a batch", "requests, each with custom_id and params", _is_requests, _requests,
        lambda document: document["requests"],
    ),
}  # fmt: skip
"""A new kind of saved output is a line here; its name is a format that a caller may name."""
