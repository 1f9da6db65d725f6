"""Verdicts as events of OpenTelemetry, `gen_ai.evaluation.result`: one for each criterion.

They go through the logger provider that the host has set up; where it has only one for traces, as
spans of no length. Nothing is set up here, and only opentelemetry-api is needed. The names are
those of the semantic conventions for generative AI:
github.com/open-telemetry/semantic-conventions-genai.
"""

from __future__ import annotations

import time
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from ..errors import InputError, ProviderError
from ..formats import units
from ..records.types import Verdict
from .tracking import Sent, missing, tracked_responses
from .verdicts import comment_on, evaluation_name, scores_of

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider  # pyright: ignore[reportMissingImports]
    from opentelemetry.context import Context  # pyright: ignore[reportMissingImports]
    from opentelemetry.trace import TracerProvider  # pyright: ignore[reportMissingImports]

    from ..run import Run

EVENT: Final = "gen_ai.evaluation.result"
_NOTHING_BEHIND: Final = (
    "ProxyLoggerProvider", "NoOpLoggerProvider", "ProxyTracerProvider", "NoOpTracerProvider",
)  # fmt: skip


class ResultEvents:
    """Emits the scores of verdicts."""

    def __init__(
        self,
        evaluation: str,
        *,
        is_demonstration: bool,
        logger_provider: LoggerProvider | None = None,
        tracer_provider: TracerProvider | None = None,
    ) -> None:
        """Finds where events go.

        Args:
            evaluation: what the names of scores begin with; the rubric's id.
            is_demonstration: whether an embedded stand-in judges.
            logger_provider, tracer_provider: the host's global ones when both are left out.

        Raises:
            InputError: opentelemetry-api is missing, or no provider is set up.
        """
        try:
            from opentelemetry import trace  # pyright: ignore[reportMissingImports]
            from opentelemetry._logs import get_logger_provider  # pyright: ignore[reportMissingImports]
        except ImportError as error:
            raise missing("opentelemetry-api", error) from error

        self._evaluation, self._is_demonstration = evaluation, is_demonstration
        if logger_provider is None and tracer_provider is None:
            logger_provider, tracer_provider = get_logger_provider(), trace.get_tracer_provider()
        name, ours = "areopagus", version("areopagus")
        self._providers = [
            one
            for one in (logger_provider, tracer_provider)
            if one is not None and type(one).__name__ not in _NOTHING_BEHIND
        ]
        if not self._providers:
            raise InputError(
                "no provider of OpenTelemetry is set up in this process, so events would be lost",
                hint="Set one up before, or start the program by opentelemetry-instrument.",
            )
        first = self._providers[0]
        self._logger = first.get_logger(name, ours) if hasattr(first, "get_logger") else None
        self._tracer = first.get_tracer(name, ours) if hasattr(first, "get_tracer") else None

    def emit(
        self,
        verdict: Verdict,
        *,
        trace_id: str = "",
        span_id: str = "",
        response_id: str = "",
    ) -> int:
        """Emits an event for the composite and each criterion, and returns how many.

        Args:
            verdict: the panel's. Where it has no number an event has no score, and says why.
            trace_id, span_id: hexadecimal, of the span in which the response was written; the
                current span when left out.
            response_id: the provider's id of the response; our own when left out.
        """
        context = _context_of(trace_id, span_id)
        scores = scores_of(verdict)
        for score in scores:
            told: dict[str, Any] = {
                "gen_ai.evaluation.name": f"{self._evaluation}.{score.name}",
                "gen_ai.evaluation.score.label": verdict.status,
                "gen_ai.evaluation.explanation": comment_on(
                    score, verdict, is_demonstration=self._is_demonstration
                ),
                "gen_ai.response.id": response_id or verdict.response_id,
            }
            if score.value is not None:
                told["gen_ai.evaluation.score.value"] = score.value
            self._send(told, context)
        return len(scores)

    def flush(self) -> None:
        """Waits until what was emitted is on its way.

        Raises:
            ProviderError: a provider of the host's says that it was not in time.
        """
        for provider in self._providers:
            # None: an older one, which does not say.
            if hasattr(provider, "force_flush") and provider.force_flush() is False:
                raise ProviderError("timeout", "OpenTelemetry did not send all events in time")

    def _send(self, attributes: dict[str, Any], context: Context | None) -> None:
        now = time.time_ns()
        if self._logger is not None:
            from opentelemetry._logs import LogRecord, SeverityNumber  # pyright: ignore[reportMissingImports]

            self._logger.emit(
                LogRecord(
                    timestamp=now,
                    observed_timestamp=now,
                    context=context,
                    severity_number=SeverityNumber.INFO,
                    attributes=attributes,
                    event_name=EVENT,
                )
            )
        elif self._tracer is not None:
            span = self._tracer.start_span(EVENT, context, attributes=attributes, start_time=now)
            span.end(now)


def _context_of(trace_id: str, span_id: str) -> Context | None:
    """The context of a span that has ended elsewhere; None: the current one."""
    if not (trace_id and span_id):
        return None
    from opentelemetry.trace import (  # pyright: ignore[reportMissingImports]
        NonRecordingSpan,
        SpanContext,
        TraceFlags,
        set_span_in_context,
    )

    sampled = TraceFlags(TraceFlags.SAMPLED)
    return set_span_in_context(
        NonRecordingSpan(SpanContext(int(trace_id, 16), int(span_id, 16), True, sampled))
    )


def emit_run(run: Run, to: str = "otel", *, dry_run: bool = False) -> Sent:
    """Emits the scores of a stored run, each beside the span that its row names.

    Args:
        run: of a panel. Columns `trace_id` and `span_id` name the span, and `gen_ai_response_id`
            the provider's response.
        to: not used; there is one place.
        dry_run: whether it is only said what would be emitted.

    Raises:
        InputError: ids that are none, or no provider set up.
        ProviderError: as of `ResultEvents.flush`.
    """
    rows = tracked_responses(run)
    found = [one for one in rows if one.trace_id and one.span_id]
    counts = {"responses": len(rows), "events": 0, "responses with a span": len(found)}
    evaluation = evaluation_name(run.record["identity"])
    if dry_run:
        counts["events"] = sum(len(scores_of(one.verdict)) for one in rows)
    else:
        is_demonstration = bool(run.record.get("demonstration"))
        events = ResultEvents(evaluation, is_demonstration=is_demonstration)
        from opentelemetry import context  # pyright: ignore[reportMissingImports]

        # A row without a span belongs to none, and not to the one in which this is called.
        token = context.attach(context.Context())
        try:
            for one in rows:
                counts["events"] += events.emit(
                    one.verdict,
                    trace_id=one.trace_id,
                    span_id=one.span_id,
                    response_id=one.provider_id,
                )
        finally:
            context.detach(token)
        events.flush()
    said = f"{counts['events']:,} events {EVENT} for {len(rows):,} responses"
    answer = f"Would emit {said}." if dry_run else f"Emitted {said}."
    remarks = []
    if len(found) < len(rows):
        without = units(len(rows) - len(found), "response")
        told = f"{without} without trace_id and span_id: their events belong to no span"
        remarks.append(("spans", told))
    return Sent(answer, counts, remarks, None if dry_run else "OpenTelemetry")
