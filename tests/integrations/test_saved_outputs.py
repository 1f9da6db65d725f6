"""Outputs that other tools saved, as responses; the files are written here, without the tools."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from areopagus import Panel, score_prompts
from areopagus.errors import InputError
from areopagus.records.export import export_run
from areopagus.records.readers import PromptSource, ResponseSource, SourceSummary
from areopagus.records.types import Sample


def write_lines(path: Path, records: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def responses(path: Path, **options: Any) -> tuple[SourceSummary, dict[str, Sample]]:
    with ResponseSource(path, **options) as source:
        summary = source.check()
        return summary, {row.response_id: row for row in source.rows()}


def refused(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        responses(path, **options)
    return str(caught.value)


# lm-evaluation-harness ---------------------------------------------------------------------------

DATE = "2026-03-04T05-06-07.891011"


def lm_sample(doc_id: Any, *texts: str, **more: Any) -> dict[str, Any]:
    prompt, until = f"Q: number {doc_id}?\nA:", {"until": ["\n"]}
    return {
        "doc_id": doc_id,
        "doc": {"question": "?"},
        "target": "42",
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": until}},
        "resps": [list(texts)],
        "filtered_resps": [texts[0][:1] if texts else ""],
        "filter": "first",
        "metrics": ["exact_match"],
        "exact_match": 0.5,
        **more,
    }


def lm_choice(doc_id: int) -> dict[str, Any]:
    asked = {f"gen_args_{at}": {"arg_0": "Q", "arg_1": f" {at}"} for at in range(2)}
    scored = [[["-1.5", "False"]], [["-2.5", "False"]]]
    return lm_sample(doc_id, arguments=asked, resps=scored, filtered_resps=[["-1.5", "False"]] * 2)


def test_samples_of_lm_eval_are_what_the_model_wrote_and_not_what_a_filter_kept(
    tmp_path: Path,
) -> None:
    path = write_lines(
        tmp_path / f"samples_civics_us_{DATE}.jsonl",
        [lm_sample(0, "whole text"), lm_sample(1, "", "again"), lm_choice(2),
         lm_sample(0, "whole text", filter="other"), lm_sample(1, "", "again", filter="other")],
    )  # fmt: skip
    (tmp_path / f"results_{DATE}.json").write_text(json.dumps({"model_name": "lab/small"}))
    summary, found = responses(path)
    assert list(found) == ["0", "1_0", "1_1"]
    assert found["0"].response_text == "whole text"
    assert found["1_0"].response_text == ""  # an outcome, and no failure
    assert {one.respondent_id for one in found.values()} == {"lab/small"}
    assert (found["1_1"].prompt_id, found["1_1"].prompt_text) == ("1", "Q: number 1?\nA:")
    assert found["0"].extra == {"task": "civics_us", "target": "42", "score_exact_match": 0.5}
    (notice,) = summary.notices
    assert notice.startswith("1 sample without a response left out (1: a log-likelihood was asked")
    assert summary.left_out == {"a log-likelihood was asked for, and no text was written": 1}


def test_samples_of_lm_eval_may_have_lists_of_arguments_and_chat_messages(tmp_path: Path) -> None:
    chat = json.dumps(
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "?"}]
    )
    path = write_lines(
        tmp_path / "any name.jsonl",
        [lm_sample(0, "a", arguments=[["Plain?", {"until": []}]]),
         lm_sample(1, "b", arguments={"gen_args_0": {"arg_0": [chat], "arg_1": {}}})],
    )  # fmt: skip
    summary, found = responses(path)
    assert found["0"].prompt_text == "Plain?"
    assert found["1"].prompt_text == "System: Be brief.\n\nUser: ?"
    (notice,) = summary.notices
    assert notice == "No respondent_id: 'unnamed' is taken."


# HELM --------------------------------------------------------------------------------------------


def helm_state(instance_id: str, *texts: str, **more: Any) -> dict[str, Any]:
    instance = {"input": {"text": "x"}, "references": [], "id": instance_id, "split": "test"}
    instance |= more.pop("instance", {})
    ended = {"reason": more.pop("ended", "stop")}
    completions = [
        {"text": text, "logprob": 0, "tokens": [], "finish_reason": ended} for text in texts
    ]
    result = {"success": True, "embedding": [], "completions": completions, "cached": False}
    request = {"prompt": f"What of {instance_id}?", "max_tokens": 100, "num_completions": 1}
    state = {"instance": instance, "train_trial_index": 0, "request": request, "result": result}
    state |= more
    return {name: value for name, value in state.items() if value is not None}


def write_helm(path: Path, states: list[Any]) -> Path:
    adapter = {"method": "generation", "model": "lab/model", "model_deployment": "host/model"}
    path.write_text(json.dumps({"adapter_spec": adapter, "request_states": states}))
    return path


def test_states_of_helm_keep_instances_perturbations_trials_and_completions_apart(
    tmp_path: Path,
) -> None:
    typos, dialect = {"name": "typos", "robustness": True}, {"name": "dialect", "prob": 0.5}
    messages = [{"role": "user", "content": "Said?"}]
    path = write_helm(
        tmp_path / "scenario_state.json",
        [helm_state("id1", "one"),
         helm_state("id1", "two", instance={"perturbation": {**typos, "seed": 1}}),
         helm_state("id2", "three", instance={"perturbation": {**typos, "seed": 2}}),
         helm_state("id1", "four", instance={"perturbation": dialect}),
         helm_state("id1", "five", instance={"perturbation": {**dialect, "prob": 1.0}}),
         helm_state("id1", "six", train_trial_index=1, request={"prompt": "Other examples."}),
         helm_state("id3", "seven", "eight", request={"messages": messages, "prompt": ""})],
    )  # fmt: skip
    _, found = responses(path)
    assert {name: one.response_text for name, one in found.items()} == {
        "id1": "one", "id1_typos": "two", "id2_typos": "three", "id1_dialect": "four",
        "id1_dialect-2": "five", "id1_trial1": "six", "id3_0": "seven", "id3_1": "eight",
    }  # fmt: skip
    assert (found["id3_1"].prompt_id, found["id3_1"].prompt_text) == ("id3", "Said?")
    assert {one.respondent_id for one in found.values()} == {"lab/model"}
    assert found["id1_typos"].extra["perturbation"] == "typos"


def test_what_is_no_answer_in_helm_is_counted_with_its_reason(tmp_path: Path) -> None:
    failed = {"success": False, "error": "x", "completions": [], "embedding": [], "cached": False}
    path = write_helm(
        tmp_path / "scenario_state.json",
        [helm_state("id1", "one"), helm_state("id2", "cu", ended="length"),
         helm_state("id3", result=failed), helm_state("id4", result=None), helm_state("id5"),
         helm_state("id6", "x", reference_index=0), helm_state("id6", "x", reference_index=1),
         helm_state("id7", "x", request={"prompt": "x", "max_tokens": 0})],
    )  # fmt: skip
    summary, found = responses(path)
    assert list(found) == ["id1", "id2"]
    assert found["id2"].extra["finish_reason"] == "length"
    assert summary.left_out == {
        "a log-likelihood was asked for, and no text was written": 3,
        "its request failed": 1,
        "its request was not sent": 1,
        "it has no completion": 1,
    }


# Batches -----------------------------------------------------------------------------------------


def openai_line(custom_id: str, body: Any, status: int = 200, error: Any = None) -> dict[str, Any]:
    response = None if error else {"status_code": status, "request_id": "r", "body": body}
    return {"id": "b", "custom_id": custom_id, "response": response, "error": error}


def completion(*texts: str | None, ended: str = "stop", **message: Any) -> dict[str, Any]:
    choices = [
        {"index": at, "finish_reason": ended,
         "message": {"role": "assistant", "content": text, **message}}
        for at, text in enumerate(texts)
    ]  # fmt: skip
    return {"object": "chat.completion", "model": "gpt-x-2026", "choices": choices}


def newer(*parts: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    thought = {"type": "reasoning", "summary": []}
    said = {"type": "message", "role": "assistant", "content": list(parts)}
    found = {"object": "response", "model": "gpt-x-2026", "status": "completed"}
    return {**found, "output": [thought, said], **more}


def anthropic_line(custom_id: str, *parts: Any, ended: str = "end_turn") -> dict[str, Any]:
    message = {"role": "assistant", "model": "claude-x", "content": list(parts)}
    result = {"type": "succeeded", "message": {**message, "stop_reason": ended}}
    return {"custom_id": custom_id, "result": result}


def text_part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def write_prompts(path: Path, ids: Iterable[str]) -> Path:
    """A table of prompts."""
    return write_lines(path, [{"prompt_id": one, "prompt_text": f"What of {one}?"} for one in ids])


def test_lines_of_an_openai_batch_are_responses_and_what_failed_is_counted(tmp_path: Path) -> None:
    cut = {"incomplete_details": {"reason": "max_output_tokens"}, "status": "incomplete"}
    declined = {"type": "refusal", "refusal": "I will not."}
    lines = [
        openai_line("a", completion("one")),
        openai_line("b", completion("two", "three")),
        openai_line("c", newer({"type": "output_text", "text": "four"})),
        openai_line("d", completion(None, refusal="No.")),
        openai_line("e", newer(declined)),
        openai_line("f", completion("fi", ended="length")),
        openai_line("g", newer({"type": "output_text", "text": "fi"}, **cut)),
        openai_line("h", completion(None, ended="tool_calls")),
        openai_line("i", {"error": {"code": "rate_limit"}}, 429),
        openai_line("j", None, error={"code": "batch_expired", "message": "late"}),
        openai_line("k", {"object": "list", "data": [{"embedding": [0.5]}]}),
        openai_line("l", completion("", ended="content_filter")),
        openai_line("m", completion("")),
        openai_line("n", completion("", ended="length")),
    ]
    path = write_lines(tmp_path / "batch_output.jsonl", lines)
    prompts = write_prompts(tmp_path / "prompts.jsonl", [*"abcdefghijklmn", "o"])
    summary, found = responses(path, prompts_from=prompts)
    assert {name: one.response_text for name, one in found.items()} == {
        "a": "one", "b_0": "two", "b_1": "three", "c": "four", "d": "No.", "e": "I will not.",
        "f": "fi", "g": "fi", "m": "",
    }  # fmt: skip
    assert found["f"].extra["finish_reason"] == "length"
    assert found["b_1"].prompt_text == "What of b?"
    assert {one.respondent_id for one in found.values()} == {"gpt-x-2026"}
    assert summary.left_out == {
        "cut off at its length limit before any text": 1,
        "it has no text": 1,
        "it calls a tool and has no text": 1,
        "its request failed (rate_limit)": 1,
        "its request was not sent before it expired": 1,
        "stopped by a content filter": 1,
        "no line of the file answers its prompt": 1,
    }


def test_lines_of_an_anthropic_batch_are_responses_and_what_failed_is_counted(
    tmp_path: Path,
) -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": ""}
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}
    path = write_lines(
        tmp_path / "results.jsonl",
        [anthropic_line("a", thought, text_part("one")),
         anthropic_line("b", text_part("cu"), ended="max_tokens"),
         anthropic_line("c", ended="refusal"),
         anthropic_line("d"),
         {"custom_id": "e", "result": {"type": "errored", "error": overloaded}},
         {"custom_id": "f", "result": {"type": "canceled"}},
         {"custom_id": "g", "result": {"type": "expired"}}],
    )  # fmt: skip
    requests = [
        {"custom_id": one, "params": {"model": "claude", "system": [text_part("Be brief.")],
         "messages": [{"role": "user", "content": [text_part(f"What of {one}?")]}]}}
        for one in "abcdefg"
    ]  # fmt: skip
    given = tmp_path / "requests.json"
    given.write_text(json.dumps({"requests": requests}))
    summary, found = responses(path, prompts_from=given)
    assert {name: one.response_text for name, one in found.items()} == {
        "a": "one",
        "b": "cu",
        "d": "",
    }
    assert found["a"].prompt_text == "System: Be brief.\n\nUser: What of a?"
    assert summary.left_out == {
        "stopped by a content filter": 1,
        "its request failed (overloaded_error)": 1,
        "its request was canceled": 1,
        "its request was not sent before it expired": 1,
    }


def test_the_input_of_a_batch_is_a_file_of_prompts_in_each_of_its_forms(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "Said?"}]
    bodies = [
        {"messages": [{"role": "system", "content": "Be brief."}, *said]},
        {"input": "Plain?", "instructions": "Be brief."},
        {"input": [{"role": "user", "content": [{"type": "input_text", "text": "Part?"}]},
                   {"type": "item_reference", "id": "x"}]},
        {"prompt": "Old?"},
    ]  # fmt: skip
    lines = [{"custom_id": str(at), "method": "POST", "url": "/v1", "body": one}
             for at, one in enumerate(bodies)]  # fmt: skip
    with PromptSource(write_lines(tmp_path / "input.jsonl", lines)) as source:
        source.check()
        asked = [row.prompt_text for row in source.rows()]
    said, plain = ("System: Be brief.\n\nUser: " + one for one in ("Said?", "Plain?"))
    assert asked == [said, plain, "Part?", "Old?"]


def test_prompts_are_joined_to_any_table_that_has_none(tmp_path: Path) -> None:
    rows = [{"response_id": "1", "prompt_id": "a", "response_text": "one"},
            {"response_id": "2", "prompt_id": "b", "response_text": "two",
             "prompt_text": "Its own?"}]  # fmt: skip
    prompts = write_prompts(tmp_path / "prompts.jsonl", ["a", "b"])
    _, found = responses(write_lines(tmp_path / "r.jsonl", rows), prompts_from=prompts)
    assert [one.prompt_text for one in found.values()] == ["What of a?", "Its own?"]


def test_a_batch_without_its_prompts_says_how_to_name_them(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "out.jsonl", [openai_line("a", completion("one"))])
    assert "prompt_text: there is no such column" in refused(path)
    assert "as `prompts_from`" in refused(path)
    rows = [{"response_id": "1", "prompt_id": "a", "response_text": "one"}]
    prompts = write_prompts(tmp_path / "prompts.jsonl", ["z"])
    told = refused(write_lines(tmp_path / "r.jsonl", rows), prompts_from=prompts)
    assert "r.jsonl:1: prompt_id: 'a' does not stand in" in told


# Faults ------------------------------------------------------------------------------------------


def test_everything_wrong_in_a_file_is_said_at_once_with_its_lines(tmp_path: Path) -> None:
    broken = [
        lm_sample(0, "a"),
        {"doc_id": 1},
        lm_sample(None, "b"),
        lm_sample(3, "c", resps=[["c"], ["d"]]),
        lm_sample(4, "d", arguments="Q"),
        lm_sample(0, "e"),
    ]
    told = refused(write_lines(tmp_path / "samples.jsonl", broken))
    title = "not readable as samples of lm-evaluation-harness"
    for line, fault in {
        2: f"{title}: it has no doc_id, arguments and resps",
        3: f"{title}: its doc_id is neither text nor a whole number",
        4: f"{title}: it has 1 requests and 2 answers",
        5: f"{title}: arguments is no list",
        6: "response_id: must be unique, got '0'",
    }.items():
        assert f"samples.jsonl:{line}: {fault}" in told

    state = {"adapter_spec": {}, "request_states": [3, {"instance": {"id": 1}}]}
    path = tmp_path / "scenario_state.json"
    path.write_text(json.dumps(state))
    told = refused(path)
    assert "scenario_state.json:1: not readable as a scenario state of HELM: it is no JSON" in told
    assert "scenario_state.json:2: not readable as a scenario state of HELM: its request" in told

    lines = [
        openai_line("a", completion("one")),
        {"custom_id": "b", "result": {"type": "expired"}},
        openai_line("", completion("one")),
        openai_line("d", ["no body"]),
        openai_line("e", {"choices": ["no choice"]}),
    ]
    told = refused(write_lines(tmp_path / "out.jsonl", lines))
    for line in (2, 3, 4, 5):
        assert f"out.jsonl:{line}: not readable as the output of an OpenAI batch" in told


@pytest.mark.parametrize(
    "records",
    [
        [{"adapter_spec": {"model": "m"}, "request_states": []}, {"x": 1}],
        [lm_sample(1, "It depends.", metrics=3)],
        [lm_sample(1, "It depends.", metrics=[["a"]])],
        [openai_line("a", {"choices": 3})],
    ],
)
def test_a_record_of_another_form_is_said_with_its_line(records: list[Any], tmp_path: Path) -> None:
    path = write_lines(tmp_path / "saved.jsonl", records)
    assert f"saved.jsonl:{len(records)}: not readable as" in refused(path)


def test_a_format_that_is_named_is_held_to_and_what_was_found_is_said(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "out.jsonl", [anthropic_line("a", text_part("one"))])
    told = refused(path, format="openai-batch")
    assert (
        "is no record of the output of an OpenAI batch, which has custom_id, and response" in told
    )
    assert "this one looks like the results of an Anthropic batch" in told
    plain = write_lines(tmp_path / "plain.jsonl", [{"prompt_text": "?", "custom_id": 1}])
    assert "this one has the keys prompt_text, custom_id" in refused(plain, format="helm")
    assert "must be one of csv" in refused(plain, format="lm_eval")
    other = tmp_path / "samples.txt"
    other.write_text(json.dumps(lm_sample(0, "a")))
    assert list(responses(other, format="lm-eval")[1]) == ["0"]


def test_a_table_with_a_column_called_response_is_no_batch(tmp_path: Path) -> None:
    rows = [{"custom_id": "1", "prompt_text": "?", "response": "text", "result": "text"}]
    _, found = responses(
        write_lines(tmp_path / "r.jsonl", rows),
        columns={"response_id": "custom_id", "response_text": "response"},
    )
    assert found["1"].response_text == "text"


def test_saved_outputs_are_read_gzipped_as_well(tmp_path: Path) -> None:
    path = tmp_path / f"samples_civics_{DATE}.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(lm_sample(0, "a")).encode()))
    _, found = responses(path)
    assert found["0"].extra["task"] == "civics"


# To the end --------------------------------------------------------------------------------------


def test_a_batch_is_scored_with_its_input_and_what_failed_is_in_the_run(tmp_path: Path) -> None:
    lines = [openai_line("a", completion("It is, because others rely on it.")),
             openai_line("b", None, error={"code": "batch_expired"})]  # fmt: skip
    out = write_lines(tmp_path / "out.jsonl", lines)
    prompts = write_prompts(tmp_path / "in.jsonl", ["a", "b"])
    with Panel(personas=["moral_philosopher", "historian"]) as panel:
        run = panel.score_many(out, tmp_path / "run", prompts_from=prompts, on_progress=False)
    expired = "its request was not sent before it expired"
    assert run.record["responses"]["n"] == 1
    assert run.record["responses"]["left_out"] == {expired: 1}
    assert any(expired in one for one in run.record["notices"])
    card = export_run(run.path, "hf", tmp_path / "set").path / "README.md"
    told = f"Left out, because there was no response: 1 sample (1: {expired})."
    assert told in " ".join(card.read_text().split())


def test_targets_are_asked_no_prompts_from_another_file(tmp_path: Path) -> None:
    prompts = write_prompts(tmp_path / "in.jsonl", ["a"])
    with pytest.raises(InputError, match="are for responses that are there already"):
        score_prompts(prompts, "offline/respondent", out=tmp_path / "run", prompts_from=prompts)
