"""Scores beside the traces in which responses were written, in Phoenix or Langfuse.

Rows of the input name their span: `span_id` or `trace_id` for Phoenix; `trace_id`, and with it
`observation_id` or `span_id`, for Langfuse. What is sent is what the servers' documented addresses
take, without their packages: `/v1/span_annotations` and `/v1/trace_annotations` of Phoenix,
`/api/public/scores` of Langfuse. Sending again changes what is there instead of adding to it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from ..async_runner import run_sync
from ..errors import InputError, InputFault, ProviderError
from ..formats import units
from .tracking import (
    Sent,
    TrackedResponse,
    panel_hash,
    shown_address,
    tracked_responses,
)
from .verdicts import comment_on, evaluation_name, scores_of

if TYPE_CHECKING:
    from ..run import Run

_MOST: Final = 100
"""Scores of one request: of some hundred bytes each, far below a megabyte, Langfuse's limit."""
_CALL_S: Final = 60.0

Items = list[dict[str, Any]]


def annotate(run: Run, to: str, *, dry_run: bool = False) -> Sent:
    """Sends the scores of a stored run to the server named.

    Args:
        run: of a panel; its input had columns with ids.
        to: `phoenix:URL` or `langfuse:URL`. Keys are those of PHOENIX_API_KEY, where the server
            asks for one, and of LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY.
        dry_run: whether it is only said what would be sent.

    Raises:
        InputError: no row with an id, no address, a key that is missing.
        ProviderError: the server did not take them; how many it has taken stands in the message.
    """
    tool, _, url = to.partition(":")
    base = _address(tool, url)
    rows = tracked_responses(run)
    if tool == "phoenix":
        name, sent, batches = "Phoenix", *_phoenix(run, rows)
    else:
        name, sent, batches = "Langfuse", *_langfuse(run, rows)
    wanted = "span_id or trace_id" if tool == "phoenix" else "trace_id"
    if not sent:
        raise InputError(
            [InputFault(str(run.path), f"no row has a {wanted}")],
            hint="Score a file that has them as columns; they are carried through.",
        )
    n = sum(len(items) for _, items in batches)
    counts = {"responses": sent, "scores": n, "requests": sum(1 for _ in _requests(batches))}
    said = f"{units(n, 'score')} of {units(sent, 'response')}"
    without = len(rows) - sent
    remarks = [("left out", f"{units(without, 'response')} without {wanted}")] if without else []
    where = shown_address(base)
    if dry_run:
        samples = [
            (one["metadata"]["response_id"], one["name"], _value(one))
            for _, items in batches
            for one in items
        ]
        answer = f"Would send {said} to {name} at {where}."
        return Sent(answer, counts, remarks, None, samples)
    headers = {"content-type": "application/json", **_key(tool)}
    run_sync(_send(tool, base, headers, batches))
    return Sent(f"Sent {said} to {name} at {where}.", counts, remarks, where)


def _address(tool: str, url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"{tool}: takes the server's address, such as https://HOST; got {url!r}")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise InputError(f"{tool}: the address must have no user, password or query: keys are read "
                         "from the environment")  # fmt: skip
    return url.rstrip("/")


def _key(tool: str) -> dict[str, str]:
    if tool == "phoenix":
        key = os.environ.get("PHOENIX_API_KEY")
        return {"authorization": f"Bearer {key}"} if key else {}
    names = ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")
    if wrong := [name for name in names if not os.environ.get(name)]:
        raise InputError(f"the environment lacks {' and '.join(wrong)}")
    pair = ":".join(os.environ[name] for name in names)
    return {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


# What is sent


def _phoenix(
    run: Run, rows: Sequence[TrackedResponse]
) -> tuple[int, tuple[tuple[str, Items], ...]]:
    """An annotation has a score, a label and an explanation; without a number only the two."""
    is_demonstration = bool(run.record.get("demonstration"))
    evaluation, identifier = (
        evaluation_name(run.record["identity"]),
        f"areopagus-{panel_hash(run.record)}",
    )
    spans: Items = []
    traces: Items = []
    n = 0
    for row in rows:
        if not (row.span_id or row.trace_id):
            continue
        n += 1
        of_span = bool(row.span_id)
        for score in scores_of(row.verdict):
            result: dict[str, Any] = {
                "label": row.verdict.status,
                "explanation": comment_on(score, row.verdict, is_demonstration=is_demonstration),
            }
            if score.value is not None:
                result["score"] = score.value
            (spans if of_span else traces).append(
                {
                    "name": f"{evaluation}.{score.name}",
                    "annotator_kind": "CODE" if is_demonstration else "LLM",
                    **({"span_id": row.span_id} if of_span else {"trace_id": row.trace_id}),
                    "result": result,
                    "metadata": _metadata(run, row),
                    # A trace may hold several responses, whose scores must not replace each other.
                    "identifier": f"{identifier}-{row.verdict.response_id}",
                }
            )
    return n, (("/v1/span_annotations", spans), ("/v1/trace_annotations", traces))


def _langfuse(
    run: Run, rows: Sequence[TrackedResponse]
) -> tuple[int, tuple[tuple[str, Items], ...]]:
    """A number is a score; the status is one of words, and all there is without a number."""
    is_demonstration = bool(run.record.get("demonstration"))
    evaluation, panel = evaluation_name(run.record["identity"]), panel_hash(run.record)
    # A score is changed by what comes with its id and its time: the run's, and not the clock's.
    when = run.record["sessions"][0]["started"]
    found: Items = []
    n = 0
    for row in rows:
        if not row.trace_id:
            continue
        n += 1
        observation = row.observation_id or row.span_id
        beside = {"traceId": row.trace_id} | ({"observationId": observation} if observation else {})
        status = {"name": f"{evaluation}.status", "value": row.verdict.status}
        reason = {"comment": row.verdict.reason} if row.verdict.reason else {}
        items: Items = [{**status, "dataType": "CATEGORICAL", **reason}]
        for score in scores_of(row.verdict):
            if score.value is not None:
                told = comment_on(score, row.verdict, is_demonstration=is_demonstration)
                name = f"{evaluation}.{score.name}"
                items.append(
                    {"name": name, "value": score.value, "dataType": "NUMERIC", "comment": told}
                )
        for item in items:
            # A trace may hold several responses, whose scores must not replace each other.
            about = (panel, row.verdict.response_id, row.trace_id, observation, item["name"])
            named = "\0".join(about)
            found.append(
                {
                    "id": hashlib.sha256(named.encode()).hexdigest()[:32],
                    **beside,
                    **item,
                    "metadata": _metadata(run, row),
                    "timestamp": when,
                }
            )
    return n, (("/api/public/scores", found),)


def _value(item: Mapping[str, Any]) -> str:
    result = item.get("result", {})
    return str(item.get("value", result.get("score", result.get("label"))))


def _metadata(run: Run, row: TrackedResponse) -> dict[str, Any]:
    verdict = row.verdict
    told = {
        "response_id": verdict.response_id,
        "run": run.path.resolve().name,
        "n_scored": verdict.n_scored,
        "n_planned": verdict.n_planned,
    }
    return told | ({"demonstration": True} if run.record.get("demonstration") else {})


# Sending


def _requests(batches: Sequence[tuple[str, Items]]) -> Iterator[tuple[str, Items]]:
    for path, items in batches:
        for start in range(0, len(items), _MOST):
            yield path, items[start : start + _MOST]


async def _send(
    tool: str, base: str, headers: Mapping[str, str], batches: Sequence[tuple[str, Items]]
) -> None:
    """Sends them, a request after the other.

    Older servers of Langfuse take one score a request, and answer a list with 400.
    """
    done = 0
    one_by_one = False
    try:
        for path, items in _requests(batches):
            if tool == "phoenix":
                # Answered when it is done: a span that the server does not know is a fault.
                await _post(f"{base}{path}?sync=true", headers, {"data": items})
            else:
                if not one_by_one:
                    try:
                        _require_all(await _post(base + path, headers, items))
                    except ProviderError as error:
                        if error.status != HTTPStatus.BAD_REQUEST or done:
                            raise
                        one_by_one = True
                if one_by_one:
                    for item in items:
                        await _post(base + path, headers, item)
                        done += 1
                    continue
            done += len(items)
    except ProviderError as error:
        told = f"{error.detail}; {units(done, 'score')} had been taken before"
        raise ProviderError(error.fault, told, status=error.status) from error


def _require_all(answer: Any) -> None:
    """Langfuse says with 207 how many of a list it did not take."""
    rejected = answer.get("rejected") if isinstance(answer, Mapping) else None
    if rejected:
        said = "; ".join(str(one.get("message")) for one in answer.get("errors", [])[:3])
        raise ProviderError(
            "bad_request", f"{rejected} of {rejected + answer.get('accepted', 0)} scores were not "
            f"taken: {said}"
        )  # fmt: skip


async def _post(url: str, headers: Mapping[str, str], body: Any) -> Any:
    from ..judges.models.connections import HttpError, RedirectedError, post
    from ..judges.models.provider_errors import one_attempt

    async def attempt() -> Any:
        try:
            answer = await post(url, headers, json.dumps(body).encode())
        except RedirectedError as error:
            raise ProviderError(
                "bad_request", "the address redirects, which is not followed"
            ) from error
        if not HTTPStatus.OK <= answer.status_code < HTTPStatus.MULTIPLE_CHOICES:
            raise HttpError(answer)
        try:
            return answer.json()
        except ValueError:
            return None

    secrets = [value.split(" ", 1)[1] for name, value in headers.items() if name == "authorization"]
    return await one_attempt(attempt(), _CALL_S, lambda: secrets)
