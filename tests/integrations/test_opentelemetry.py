"""Verdicts as events of OpenTelemetry, in exporters of its own that keep them in memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tools import needs, programs_of
from tracked_run import TRACE, made_run

needs("opentelemetry", "opentelemetry.sdk")

from opentelemetry import trace  # noqa: E402
from opentelemetry._logs import set_logger_provider  # noqa: E402
from opentelemetry.sdk._logs import LoggerProvider  # noqa: E402
from opentelemetry.sdk._logs.export import (  # noqa: E402
    InMemoryLogRecordExporter,
    SimpleLogRecordProcessor,
)
from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import (  # noqa: E402
    InMemorySpanExporter,
)
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as names  # noqa: E402

from areopagus import Panel  # noqa: E402
from areopagus.errors import InputError, ProviderError  # noqa: E402
from areopagus.integrations.evaluator import PanelEvaluator  # noqa: E402
from areopagus.integrations.opentelemetry_events import ResultEvents, emit_run  # noqa: E402
from areopagus.integrations.track import track  # noqa: E402
from areopagus.integrations.tracking import tracked_responses  # noqa: E402
from areopagus.run import Run  # noqa: E402
from areopagus.testing import ScriptedBackend  # noqa: E402


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return made_run(tmp_path_factory.mktemp("events"))


@pytest.fixture(scope="module")
def host() -> InMemoryLogRecordExporter:
    """What the host's providers, which a process can set once, have been handed."""
    kept = InMemoryLogRecordExporter()
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(kept))
    set_logger_provider(provider)
    trace.set_tracer_provider(TracerProvider())
    return kept


def events(kept: InMemoryLogRecordExporter) -> list[Any]:
    found = [one.log_record for one in kept.get_finished_logs()]
    kept.clear()
    return found


def test_without_a_provider_nothing_is_emitted_and_it_is_said(run: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no provider of OpenTelemetry is set up"):
        track(run, "otel")
    backend = ScriptedBackend({"overall": 6})
    panel = Panel(backend, mode="holistic", ledger=tmp_path / "ledger.sqlite")
    evaluator = PanelEvaluator(panel, out=tmp_path / "run", emit_events=True)
    with pytest.raises(InputError, match="no provider"):
        evaluator.score("Why?", "Because.")
    assert not backend.requests


def test_a_stored_run_is_an_event_a_criterion_beside_the_span_of_its_response(
    run: Run, host: InMemoryLogRecordExporter
) -> None:
    with trace.get_tracer("host").start_as_current_span("of the caller's"):
        sent = track(run, "otel")
    assert sent.answer == "Emitted 10 events gen_ai.evaluation.result for 5 responses."
    found = events(host)
    assert {one.event_name for one in found} == {"gen_ai.evaluation.result"}
    first, inconclusive, screened = found[0], found[6], found[8]
    assert first.attributes[names.GEN_AI_EVALUATION_NAME] == "critical_thinking.composite"
    assert first.attributes[names.GEN_AI_EVALUATION_SCORE_VALUE] == 8.0
    assert first.attributes[names.GEN_AI_EVALUATION_SCORE_LABEL] == "scored"
    assert first.attributes[names.GEN_AI_RESPONSE_ID] == "chatcmpl-1"
    assert "10 scored of 10 planned" in first.attributes[names.GEN_AI_EVALUATION_EXPLANATION]
    assert trace.format_trace_id(first.trace_id) == TRACE
    assert trace.format_span_id(first.span_id) == "0000000000000001"
    assert found[1].attributes[names.GEN_AI_EVALUATION_NAME] == "critical_thinking.overall"
    for one, status in ((inconclusive, "inconclusive"), (screened, "screened")):
        assert names.GEN_AI_EVALUATION_SCORE_VALUE not in one.attributes
        assert one.attributes[names.GEN_AI_EVALUATION_SCORE_LABEL] == status
        assert one.attributes[names.GEN_AI_EVALUATION_EXPLANATION].startswith("no score: ")
    assert inconclusive.attributes[names.GEN_AI_RESPONSE_ID] == "b2"
    assert not screened.span_id
    assert emit_run(run, dry_run=True).counts["events"] == 10
    assert not events(host)


def test_events_that_were_not_sent_in_time_are_an_error() -> None:
    class Late(TracerProvider):
        def force_flush(self, timeout_millis: int = 30000) -> bool:
            return False

    with pytest.raises(ProviderError, match="did not send all events in time"):
        ResultEvents("mine", is_demonstration=True, tracer_provider=Late()).flush()


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_verdict_stands_beside_the_span_that_is_current(
    host: InMemoryLogRecordExporter, tmp_path: Path, is_async: bool
) -> None:
    panel = Panel(
        ScriptedBackend({"overall": 6}), mode="holistic", ledger=tmp_path / "ledger.sqlite"
    )
    with (
        PanelEvaluator(panel, out=tmp_path / "run", emit_events=True) as evaluator,
        trace.get_tracer("host").start_as_current_span("answer") as span,
    ):
        if is_async:
            await evaluator.ascore("Why?", "Because.", response_id="r1")
        else:
            evaluator.score("Why?", "Because.", response_id="r1")
    found = events(host)
    assert [one.attributes[names.GEN_AI_EVALUATION_SCORE_VALUE] for one in found] == [6.0, 6.0]
    assert {one.span_id for one in found} == {span.get_span_context().span_id}
    assert {one.attributes[names.GEN_AI_RESPONSE_ID] for one in found} == {"r1"}


def test_where_the_host_has_traces_alone_events_are_spans_of_no_length(run: Run) -> None:
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    result_events = ResultEvents("mine", is_demonstration=True, tracer_provider=provider)
    verdict = tracked_responses(run)[0].verdict
    assert result_events.emit(verdict, trace_id=TRACE, span_id="cd" * 8) == 2
    composite, _ = kept.get_finished_spans()
    assert composite.name == "gen_ai.evaluation.result"
    assert composite.start_time == composite.end_time
    assert composite.parent is not None
    assert trace.format_span_id(composite.parent.span_id) == "cd" * 8
    assert composite.attributes is not None
    assert composite.attributes[names.GEN_AI_EVALUATION_NAME] == "mine.composite"
    told = composite.attributes[names.GEN_AI_EVALUATION_EXPLANATION]
    assert "DEMONSTRATION" in str(told)


def test_the_programs_of_the_page_run(tmp_path: Path) -> None:
    for program in programs_of("tracking", "opentelemetry"):
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert "gen_ai.evaluation.result" in done.stdout
