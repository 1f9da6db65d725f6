"""Judges of known habits, examined: what was planted is found, and nothing else is claimed."""

from __future__ import annotations

import importlib
import json
import math
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import stats

from areopagus import InputError, JudgesRun, Panel, Run, examine_judges
from areopagus.aggregation.estimate import Estimate
from areopagus.any_report import run_of
from areopagus.judge_behaviour import JudgesConfig, JudgesJob
from areopagus.judge_behaviour.arms import drawn
from areopagus.judge_behaviour.document import judges_document
from areopagus.judge_behaviour.estimates import (
    BIASES,
    Earlier,
    contrasts_of,
    estimate,
    long_table,
)
from areopagus.judge_behaviour.scores import JudgeScores, read_judge_scores, texts_of
from areopagus.judge_behaviour.texts import Form
from areopagus.records.estimates import estimate_of, estimates_by, select
from areopagus.reports.document import Document, Table
from areopagus.reports.text import render_text
from areopagus.testing import ProviderServer, ScriptedBackend, ServedReply
from areopagus.testing.scripted import draw

RESPONDENTS = ("openai/x", "anthropic/y", "a person")
N_PROMPTS = 10
MODELS = ("openai/judge", "anthropic/judge")
_TEXT = re.compile(r"<<<RESPONSE \w+>>>\n(.*?)\n<<<END RESPONSE", re.DOTALL)


def rows(n: int = N_PROMPTS) -> list[dict[str, str]]:
    return [
        {
            "response_id": f"{who}-{k}",
            "prompt_text": f"Why does question {k} matter?",
            "respondent_id": who,
            "response_text": f"Answer {k} by {who}. "
            + "It gives a reason. " * (2 + (3 * k + w) % 4),
        }
        for k in range(n)
        for w, who in enumerate(RESPONDENTS)
    ]


class Habits:
    """A judge with habits: the first criterion asked, its own family, markdown, its mood."""

    def __init__(self, harsh: float = 0.0) -> None:
        self.harsh = harsh

    def __call__(self, model: str, key: str, user: str, criteria: list[str]) -> str:
        def chance(*what: str) -> float:
            return draw(model, *what) / 2**64

        (response,) = _TEXT.findall(user)
        words = " ".join(re.sub(r"[#*-]", " ", response).split())[:40]
        level = (
            4.0
            + chance("mood", key)
            + 1.5 * (model.split("/", maxsplit=1)[0] in words)
            - self.harsh
        )
        level += 1.0 * ("##" in response)
        n = len(criteria)
        scores = {
            name: round(level + (2.0 * (1 - k / (n - 1)) if n > 1 else 1.0) + chance(name, words))
            for k, name in enumerate(criteria)
        }
        return json.dumps({**scores, "abstained": False})


def scripted(habits: Habits, name: str, **settings: Any) -> ScriptedBackend:
    def answer(request: Any) -> str:
        schema = json.loads(request.schema.text)["properties"]
        system = request.messages[0]["content"]
        # The schema's text has its keys sorted: the system message has the order asked for.
        names = sorted(
            (k for k in schema if k != "abstained"), key=lambda k: system.index(f"[{k}]")
        )
        return habits(name, request.key(), request.messages[1]["content"], names)

    return ScriptedBackend(answer, name=name, **settings)


def panel_of(folder: Path, habits: Habits, ledger: str = "ledger", **settings: Any) -> Panel:
    return Panel(
        [scripted(habits, name, **settings) for name in MODELS], personas=["historian"],
        ledger=folder / ledger,
    )  # fmt: skip


def found(run: JudgesRun, table: str, measure: str = "effect", **keys: str) -> Estimate:
    one = select(run.estimates, table, **keys)
    (row,) = one[one["measure"] == measure].to_dict("records")
    return estimate_of(row)


def bias(run: JudgesRun, name: str) -> Estimate:
    return found(run, "biases", group=name)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judged")
    with panel_of(folder, Habits()) as panel:
        panel.score_many(rows(), out=folder / "run", on_progress=False)
    return folder


@pytest.mark.report
def test_habits_over_loopback_are_found_by_a_probe_and_a_rerun_asks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    habits = Habits()

    def judge(request: Any) -> ServedReply:
        names = [k for k, v in request.schema["properties"].items() if v["type"] == "integer"]
        family = {"one": "openai/judge", "two": "anthropic/judge"}[request.model]
        return ServedReply(habits(family, request.key, request.text_of("user"), names))

    with ProviderServer(judge) as server:
        models: list[dict[str, Any]] = [
            {"model": f"openai/{model}", "name": name, "api_base": server.openai_base}
            for model, name in zip(("one", "two"), MODELS, strict=True)
        ]
        models[0]["prices"] = {"input": 1, "output": 2}
        with Panel(models, personas=["historian"], ledger=tmp_path / "ledger") as panel:
            panel.score_many(rows(), out=tmp_path / "run", on_progress=False)
        asked = server.counts.total
        assert asked == 60
        # The panel, its address, its prices and its ledger are those of run.json.
        probes = ("order", "calls", "formatting", "repeats")
        options: dict[str, Any] = {"probe": 10, "probes": probes, "margin": 0.75}
        options["out"] = tmp_path / "judges"
        run = examine_judges(tmp_path / "run", on_progress=False, **options)
        # 10 responses × 2 judges × (1 repeat, 1 order, 5 calls, 1 formatting)
        assert server.counts.total - asked == 160
        with Panel.of_run(tmp_path / "run") as panel:
            one, two = (backend.spec.prices for backend in panel.backends)
            assert one is not None
            assert (one.input, one.output, two) == (1, 2, None)
            config = JudgesConfig(**options)
            again = JudgesJob(Run(tmp_path / "run"), config, panel=panel.spec).estimate()
        assert (again.calls, again.stages[0].stored) == (0, 20)
    assert (run.state, run.exit_code) == ("complete", 0)

    order = bias(run, "order")
    assert order.verdict == "lower"
    assert order.covers(-2.0)
    places = [found(run, "places", item=str(k)).value for k in range(1, 6)]
    assert places == sorted(places, reverse=True)
    assert bias(run, "markdown").covers(1.0)
    assert bias(run, "markdown").verdict == "higher"
    assert bias(run, "own_family").covers(1.5)
    assert "needs new calls" in str(bias(run, "persona_first").reason)
    assert bias(run, "one_call").value == pytest.approx(0, abs=0.5)
    assert (order.n, order.n_planned, order.unit, order.universe) == (
        10,
        10,
        "prompt",
        "this panel",
    )
    assert order.family == "7 biases"
    assert found(run, "consistency", "SD", criterion="composite", factor="probe").is_defined
    assert "an earlier run" in str(bias(run, "drift").reason)

    lines = " ".join(" ".join(render_text(run.document())).split())
    assert re.search(
        r"\d of 7 biases are shown: scores are [\d.]+ \[.*?\] points lower for a criterion asked "
        "last",
        lines,
    )
    assert "Within ±0.75 points: calls: one for each criterion." in lines
    assert "How these judges behave" in (run.path / "report.html").read_text(encoding="utf-8")


def test_stored_scores_alone_say_what_they_can_and_why_not_the_rest(judged: Path) -> None:
    run = examine_judges(judged / "run", out=judged / "stored", on_progress=False)
    assert bias(run, "own_family").covers(1.5)
    by_family = found(run, "by model", group="own_family", model="openai")
    assert by_family.is_defined  # of the two responses that are by no other judge's family
    assert bias(run, "length").is_defined
    assert "does not vary" in str(bias(run, "formatting").reason)
    for name in ("order", "one_call", "halo_calls", "persona_first", "said_again", "markdown"):
        assert bias(run, name).reason == "needs new calls"
    told = found(run, "consistency", "SD", criterion="composite", factor="stored")
    assert "no judge scored a response twice" in str(told.reason)
    assert run.record["sessions"][-1]["calls"]["sent"] == 0
    assert isinstance(run_of(run.path), JudgesRun)
    shown = run.document()
    assert shown.more[-1] == f"areopagus judges {judged / 'run'} --probe 20 --dry-run"
    assert "stored scores, " in shown.headline[0]
    assert "criteria correlate +" in shown.headline[0]


def test_options_that_would_do_nothing_are_refused(judged: Path) -> None:
    for option in ({"probes": ("order",)}, {"probe_personas": 1}):
        with pytest.raises(InputError, match="nothing is asked without `probe`"):
            examine_judges(judged / "run", **option)
    with pytest.raises(InputError, match=r"got 'nobody'\nThere are .*anthropic/judge"):
        examine_judges(judged / "run", families={"nobody": "x"})
    with pytest.raises(InputError) as fault:
        examine_judges(judged / "run", probe=1, probes=("order", "foo"))
    assert str(fault.value).startswith("`probes`: must be 'order', 'calls', ")
    assert str(fault.value).endswith("or 'repeats', got 'foo'")


def test_judges_of_one_family_are_not_examined_for_it(judged: Path) -> None:
    families = {"anthropic/judge": "openai"}
    run = examine_judges(
        judged / "run", families=families, out=judged / "families", on_progress=False
    )
    assert "of one family (openai)" in str(bias(run, "own_family").reason)


def test_a_probe_asks_the_judges_of_the_run_and_nobody_else(judged: Path) -> None:
    with (
        Panel(ScriptedBackend("{}"), personas=["ethicist"], ledger=judged / "ledger") as other,
        pytest.raises(InputError, match="was judged with") as fault,
    ):
        examine_judges(judged / "run", probe=2, panel=other, on_progress=False)
    assert {"models.scripted/judge", "personas.ethicist", "personas.historian"} <= {
        one.field for one in fault.value.faults
    }


@pytest.mark.parametrize(
    ("settings", "probe", "name", "value"),
    [
        # Places are those of the order in which the run asked.
        ({"criterion_order": 2}, "order", "order", -2.0),
        # Without the other criteria each stands first, where it gets 1 (and 2 when it is first of
        # several, 1 on average): less where the run has asked apart, as where it has not.
        ({"criterion_calls": "apart"}, "calls", "one_call", 0.0),
        ({"order": "persona_first"}, "persona", "persona_first", 0.0),
    ],
)
def test_a_run_that_asked_otherwise_is_compared_from_where_it_stands(
    settings: dict[str, Any], probe: str, name: str, value: float, tmp_path: Path
) -> None:
    backends = [scripted(Habits(), one) for one in MODELS]
    with Panel(backends, personas=["historian"], ledger=tmp_path / "l", **settings) as panel:
        panel.score_many(rows(6), out=tmp_path / "run", on_progress=False)
        run = examine_judges(
            tmp_path / "run", probe=6, probes=(probe,), panel=panel, out=tmp_path / "judges",
            on_progress=False,
        )  # fmt: skip
    assert bias(run, name).value == pytest.approx(value, abs=0.5)
    told = found(run, "probes", "judgments", item=probe)
    assert (told.n, told.n_planned) == (12, 12)
    others = [one.id for one in BIASES if one.factor == "probe" and one.id != name]
    undefined = [one for one in others if not bias(run, one).is_defined]
    assert undefined == [one for one in others if (name, one) != ("one_call", "halo_calls")]


def test_a_verdict_an_interval_and_a_sentence_never_contradict_each_other(tmp_path: Path) -> None:
    """A bias stood as "not shown" beside an interval far from 0, without a reason."""
    with panel_of(tmp_path, Habits()) as panel:
        panel.score_many(rows(6), out=tmp_path / "run", on_progress=False)
        run = examine_judges(
            tmp_path / "run", out=tmp_path / "judges", panel=panel, probe=6, probes=("order",),
            on_progress=False,
        )  # fmt: skip
    biases = select(run.estimates, "biases")
    decided = biases[biases["low_family"].notna()]
    assert len(decided) > 2
    for row in decided.to_dict("records"):
        leaves_out_0 = row["low_family"] > 0 or row["high_family"] < 0
        assert leaves_out_0 == (row["verdict"] in ("higher", "lower"))
        assert (row["verdict"] == "open") == (not leaves_out_0)
    (table,) = (
        part for section in run.document().sections for part in section.parts
        if isinstance(part, Table) and part.label == "Each bias"
    )  # fmt: skip
    for label, cell, result in table.rows:
        if cell.value.has_interval:
            assert (result in ("higher", "lower")) == (not cell.value.covers(0)), label


def _document(judged: Path, *, n_prompts: int = 10, n_scored: int = 60, **row: Any) -> Document:
    """As of the run `judged`, with so many prompts and scores and one tested bias, if one."""
    run = examine_judges(judged / "run", out=judged / "told", on_progress=False)
    frame = run.estimates.copy()
    is_bias = frame["table"] == "biases"
    is_mine = is_bias & (frame["group"] == "own_family")
    frame.loc[is_bias & ~is_mine, ["p", "verdict"]] = [math.nan, "undefined"]
    frame.loc[(frame["table"] == "counts") & (frame["measure"] == "prompts"), "value"] = n_prompts
    frame.loc[(frame["table"] == "counts") & (frame["measure"] == "judgments"), "n"] = n_scored
    for name, value in row.items():
        frame.loc[is_mine, name] = value
    return judges_document(run.record, frame)


def test_where_nothing_is_tested_the_first_line_says_what_is_missing(judged: Path) -> None:
    """It named the probe that nobody asked for, whatever the cause."""
    untested: dict[str, Any] = {"p": math.nan, "verdict": "undefined"}
    for more, why in (
        ({"n_scored": 0}, "no judgment was scored"),
        ({"n_prompts": 3}, "3 prompts, and a test needs 6"),
    ):
        shown = _document(judged, **more, **untested)
        assert shown.headline[0] == f"No bias could be tested ({why})."
        assert dict(shown.trust)["untested"].startswith("11 other biases")


def test_responses_are_drawn_from_as_many_prompts_as_there_are(judged: Path) -> None:
    (scores,) = read_judge_scores([Run(judged / "run")])
    texts = texts_of(Run(judged / "run"), scores.ids)
    chosen = drawn(scores, texts, 14, seed=3)
    prompts = [row["prompt_text"] for row in chosen]
    assert len(set(prompts[:10])) == 10
    assert len(set(prompts[10:])) == 4
    assert chosen == drawn(scores, texts, 14, seed=3)
    assert len(drawn(scores, texts, 99, seed=0)) == 30


def test_a_cap_ends_a_probe_and_what_was_scored_is_said(judged: Path) -> None:
    with panel_of(judged, Habits(), cost_usd=0.01) as panel:
        run = examine_judges(
            judged / "run", probe=3, probes=("repeats", "persona"), panel=panel, max_cost=0.08,
            out=judged / "capped", on_progress=False,
        )  # fmt: skip
    assert (run.state, run.exit_code) == ("budget", 4)
    base = found(run, "probes", "judgments", item="base")
    assert (base.n, base.n_planned) == (12, 12)
    persona = found(run, "probes", "judgments", item="persona")
    assert persona.n < (persona.n_planned or 0)
    assert not bias(run, "persona_first").has_interval


def test_drift_is_told_from_replies_that_were_only_read_again(judged: Path) -> None:
    def scored(name: str, habits: Habits, ledger: str, **settings: Any) -> Run:
        with panel_of(judged, habits, ledger) as panel:
            spec = panel if not settings else Panel(
                [scripted(habits, one) for one in MODELS], personas=["historian"],
                ledger=judged / ledger, **settings,
            )  # fmt: skip
            return spec.score_many(rows(), out=judged / name, on_progress=False)

    def drift(later: Run) -> Estimate:
        out = judged / f"drift-{later.path.name}"
        run = examine_judges(
            later, before=judged / "run", margin=0.5, out=out, on_progress=False
        )  # fmt: skip
        return bias(run, "drift")

    moved = drift(scored("moved", Habits(harsh=1.0), "other"))
    assert moved.value == pytest.approx(-1.0)
    assert moved.verdict == "lower"
    still = drift(scored("still", Habits(), "third"))
    assert (still.value, still.verdict) == (0.0, "alike")
    assert "nothing was asked anew" in str(drift(scored("again", Habits(), "ledger")).reason)
    other = drift(scored("apart", Habits(), "other", anchors=False))
    assert "another anchors" in str(other.reason)
    told = " ".join(JudgesRun(judged / "drift-apart").document().headline)
    assert "the judges drifted since run is unknown: the earlier run asked otherwise" in told
    with pytest.raises(InputError, match="is the run itself"):
        examine_judges(judged / "run", before=judged / "run")


# Of arrays


def examined(
    values: np.ndarray, respondents: tuple[str, ...], models: tuple[str, ...], **more: Any
) -> Any:
    """Figures of composites of shape (prompts, respondents, judges)."""
    n_prompts, n_who, n_judges = values.shape
    n = n_prompts * n_who
    scores = JudgeScores(
        values.reshape(n, n_judges, 1, 1), tuple(map(str, range(n))),
        np.repeat(np.arange(n_prompts), n_who), n_prompts, respondents * n_prompts,
        tuple(map(str, range(n_judges))), models, ("overall",), values.size,
    )  # fmt: skip
    forms = more.pop("forms", None)
    earlier = more.pop("earlier", None)
    frame = estimate(scores, forms, JudgesConfig(**more), earlier=earlier).frame()
    return {
        (str(at["group"]), measure): one
        for at, row in estimates_by(select(frame, "biases"), ["group"])
        for measure, one in row.items()
    }


def test_a_harsh_judge_that_is_missing_on_its_familys_responses_is_no_bias() -> None:
    rng = np.random.default_rng(0)
    respondents = ("openai/x", "anthropic/y", "meta/z")
    models = ("openai/j", "openai/j", "anthropic/j", "anthropic/j")
    values = rng.normal(5, 1, (40, 3, 1)) + np.array([-1.5, 1.5, -1.5, 1.5])
    values = values + rng.normal(0, 0.2, values.shape)
    complete = examined(values, respondents, models)["own_family", "effect"]
    values[rng.random(40) < 0.4, 0, 0] = np.nan
    partly = examined(values, respondents, models)["own_family", "effect"]
    assert (complete.n, partly.n) == (40, 40)
    # The mean of whoever scored would give the family's responses some .3 more.
    assert partly.value == pytest.approx(complete.value, abs=0.05)
    # And a bias is still found.
    values[:, 0, :2] += 1.0
    values[:, 1, 2:] += 1.0
    found = examined(values, respondents, models)["own_family", "effect"]
    assert found.value == pytest.approx(1 + partly.value, abs=0.05)
    assert found.verdict == "higher"


def drifted(changes: list[float], **more: Any) -> Any:
    n = len(changes)
    before = np.full((n, 1), 5.0)
    after = before + np.array(changes)[:, None]
    earlier = Earlier(before, after, np.arange(n), n, ("0",), ("a",))
    return examined(after[:, None], ("x",), ("a",), earlier=earlier, **more)


def test_a_bias_is_decided_by_the_limits_that_are_shown() -> None:
    found = drifted([0.34, -0.02, 0.4, 0.16, 0.65, 2.74, 0.43, 3.46])["drift", "effect"]
    assert (found.low_family, found.verdict) == (pytest.approx(found.low), "open")
    assert found.low < 0
    assert found.needed > 8
    planted = drifted([0.34, 0.32, 0.4, 0.16, 0.65, 0.74, 0.43, 0.46])["drift", "effect"]
    assert (planted.verdict, planted.needed) == ("higher", None)


def test_three_prompts_show_no_bias_to_be_small() -> None:
    few = drifted([0.01, -0.01, 0.02], margin=0.25)["drift", "effect"]
    assert few.verdict == "undefined"
    assert "at least 6" in str(few.reason)
    assert drifted([0.01, -0.01, 0.02] * 2, margin=0.25)["drift", "effect"].verdict == "alike"
    # Small and not alike: without a margin nothing is.
    assert drifted([0.01, -0.01, 0.02] * 2)["drift", "effect"].verdict == "open"


def test_biases_of_one_examination_are_decided_together_and_a_slope_by_its_prompts() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(5, 1, (200, 4, 2))
    forms = [Form(int(words), 0, 0, 0) for words in rng.integers(50, 900, 800)]
    found = examined(values, ("a", "b", "c", "d"), ("m", "n"), forms=forms, margin=0.5)
    effect = found["length", "effect"]
    assert (effect.n, effect.family) == (200, "one comparison")
    assert (effect.high - effect.low) / 2 / effect.se == pytest.approx(stats.t.ppf(0.975, 199))
    assert effect.verdict == "alike"


def test_two_runs_of_judges_are_one_table_of_arms() -> None:
    earlier = Earlier(
        np.full((8, 2), 5.0), np.full((8, 2), 5.4), np.arange(8), 8, ("0", "1"), ("a", "b")
    )
    table = long_table(None, earlier)
    assert set(table["arm"]) == {"later", "earlier"}
    (contrast,) = contrasts_of(table)
    assert contrast.keys == {"group": "drift", "factor": "two runs"}
    assert len(table) == 2 * 8 * 2


def simulation() -> ModuleType:
    importlib.import_module("simulate")
    return importlib.import_module("simulations.judges")


def test_planted_worlds_are_found_and_null_worlds_are_quiet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # More worlds: benchmarks/simulations/judges.py, docs/how-it-works/simulations.md.
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    world = simulation()
    rng = np.random.default_rng(7)
    shown: dict[str, int] = {}
    for _ in range(3):
        for name, one in world.biases(world.EVERYTHING, 26, rng).items():
            shown[name] = shown.get(name, 0) + (one.verdict in ("higher", "lower"))
    assert all(shown[name] == 3 for name in ("order", "own_family", "halo", "drift", "markdown"))
    quiet = [world.biases(nothing, 26, rng) for nothing in (world.NOTHING, world.MISSING) * 2]
    assert not any(one.verdict in ("higher", "lower") for found in quiet for one in found.values())
