"""The paper's human-study figures and calibration items, on small hand-made studies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from calibration_worlds import figure

from areopagus.calibration import Agreement, agreement, calibrate
from areopagus.calibration.people import ALL_ALIKE
from areopagus.calibration.responses import family_of, sources

HEADER = "prompt_id,true_id,item_type,true_source,model,rank,score,judge_id,domain"


def study(path: Path, rows: Sequence[str]) -> Path:
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def packet(rater: str, prompt: str, ranks: Sequence[int], domain: str = "BBQ") -> list[str]:
    """Two people's and two models' responses with their ranks."""
    writers = (("h1", "human", ""), ("h2", "human", ""), ("m1", "llm", "gpt"),
               ("m2", "llm", "claude"))  # fmt: skip
    return [
        f"{prompt},{prompt}{name},standard,{source},{model},{rank},{10 - rank},{rater},{domain}"
        for (name, source, model), rank in zip(writers, ranks, strict=True)
    ]


def test_pairs_won_and_rankings_with_a_model_first_by_hand(tmp_path: Path) -> None:
    rows = packet("a", "p1", (3, 4, 1, 2)) + packet("b", "p1", (1, 2, 3, 3))
    rows += packet("a", "p2", (1, 1, 1, 4), "HLE")
    found = agreement(study(tmp_path / "h.csv", rows))

    def value(measure: str, **keys: str | None) -> float:
        return figure(found, "paper", measure, detail="rank", **keys).value

    # a, p1: models win 4 of 4. b, p1: 0 of 4. a, p2: m1 ties both people, m2 loses to both: 2 ties.
    assert (value("n_pairs"), value("n_tied")) == (12, 2)
    assert value("model_wins") == pytest.approx((4 + 2 / 2) / 12)
    assert value("model_wins_untied") == pytest.approx(4 / 10)
    # first: model; person; one of three shared firsts is a model
    assert value("model_first") == pytest.approx((1 + 0 + 1 / 3) / 3)
    # people: p1 mean of (3, 4, 1, 2) = 2.5, p2 mean of (1, 1) = 1
    assert value("mean", respondent="people", group=None) == pytest.approx((2.5 + 1) / 2)
    assert value("mean", respondent="people", group="HLE") == 1
    assert value("mean", respondent="claude", group=None) == pytest.approx((2.5 + 4) / 2)
    assert not math.isnan(value("w_raw_ranks", group="BBQ"))
    assert math.isnan(value("w_raw_ranks", group="HLE"))  # one rater


def test_calibration_items_are_kept_apart(tmp_path: Path) -> None:
    rows = packet("a", "p1", (3, 4, 1, 2)) + packet("b", "p1", (4, 3, 2, 1))
    for rater, ranks in (("a", (1, 2, 3)), ("b", (2, 1, 3)), ("c", (1, 3, 2))):
        for name, rank in zip(("x", "y", "weak_z"), ranks, strict=True):
            rows.append(f"cal1,{name},quality_floor,llm,{name},{rank},{10 - rank},{rater},BBQ")
    for rater in ("a", "b"):
        for name, rank in (("u", 1), ("v", 2)):
            rows.append(f"cal2,{name},source_attribution,llm,{name},{rank},{9 - rank},{rater},BBQ")
    report = agreement(study(tmp_path / "h.csv", rows))
    counts = [figure(report, "matched", n).value for n in ("n_prompts", "n_item_ratings")]
    assert counts == [1, 2 * (9 + 4)]
    of_floor = {"item": "cal1", "detail": "rank", "group": "quality floor"}
    last = figure(report, "calibration items", "floor_last", **of_floor)
    assert (last.verdict, last.n) == ("weak_z", 3)
    assert last.value == pytest.approx(2 / 3)  # c puts y last
    of_models = {"item": "cal2", "detail": "score", "group": "all models"}
    # 8 and 7 here; models' scores on p1 are 9, 8, 8, 9
    gap = figure(report, "calibration items", "gap_to_standard", **of_models)
    assert gap.value == pytest.approx(7.5 - 8.5)


def test_inferred_scores_are_compared_and_labelled(tmp_path: Path) -> None:
    humans = study(
        tmp_path / "h.csv", packet("a", "p1", (1, 2, 3, 4)) + packet("b", "p1", (1, 2, 4, 3))
    )
    judged = tmp_path / "j.csv"
    inferred = tmp_path / "i.csv"
    judged.write_text(
        "prompt_id,response_id,judge,score\np1,p1h1,one,9\np1,p1h2,one,8\np1,p1m1,one,5\n"
        "p1,p1m2,one,4\n"
    )
    inferred.write_text(
        "rater_id,prompt_id,response_id,score\na,p1,p1h1,4\na,p1,p1h2,9\na,p1,p1m1,3\na,p1,p1m2,2\n"
    )
    report = calibrate(judged, humans, inferred=inferred)
    # means of ranks 1, 2, 3.5, 3.5: of the five decided pairs one is discordant
    found = figure(report, "paper", "inferred")
    assert found.value == pytest.approx((4 - 1) / math.sqrt(6 * 5))
    assert "INFERRED" in found.method
    assert "INFERRED" in report.text
    # the panel scores the four as the mean ranks go, but for the tie
    panel = figure(report, "paper", "panel_tau")
    assert panel.value == pytest.approx(5 / math.sqrt(6 * 5))
    assert "tau of panel and people, all responses at once (.666)" in " ".join(report.text.split())


def test_responses_called_alike_under_every_prompt_are_told_apart(tmp_path: Path) -> None:
    lines = ["rater_id,prompt_id,response_id,score"]
    for prompt in ("p1", "p2"):
        for rater in ("a", "b"):
            for name, score in (("A", 3), ("B", 5 if prompt == "p1" else 1)):
                lines.append(f"{rater},{prompt},{name},{score}")
    path = tmp_path / "h.csv"
    path.write_text("\n".join(lines) + "\n")
    report = agreement(path)
    counts = [figure(report, "matched", name).value for name in ("n_responses", "n_repeated")]
    assert counts == [4, 0]
    assert figure(report, "people", "tau").value == 1


def with_items(path: Path, rows: list[str], *, header: str = "") -> Agreement:
    """The agreement of a file with three usual ratings and the given calibration items."""
    lines = [f"rater_id,prompt_id,response_id,item_type{header},overall"]
    commas = "," * header.count(",")
    lines += [f"{who},p,p{r},standard{commas},{r + 3}" for who in "abc" for r in range(3)]
    path.write_text("\n".join([*lines, *rows]) + "\n")
    return agreement(path)


def test_raters_who_tie_everything_put_nothing_last(tmp_path: Path) -> None:
    def rated(scores: dict[str, tuple[int, int, int]]) -> Agreement:
        rows = [
            f"{who},cal,{name},quality_floor,{value}"
            for who, values in scores.items()
            for name, value in zip(("weak_x", "y", "z"), values, strict=True)
        ]
        return with_items(tmp_path / "h.csv", rows)

    found = rated({"a": (2, 5, 6), "b": (7, 5, 6), "c": (4, 4, 4)})
    last = figure(found, "calibration items", "floor_last")
    # a puts it last, b does not, c has no last
    assert (last.value, last.n) == (0.5, 2)
    assert figure(found, "calibration items", "n_tied").value == 1
    # where all tie the share is undefined, not 1
    found = rated(dict.fromkeys("abc", (4, 4, 4)))
    last = figure(found, "calibration items", "floor_last")
    assert not last.is_defined
    assert last.reason == "every rater ties all responses"
    assert figure(found, "calibration items", "lowest").verdict == ALL_ALIKE
    assert figure(found, "calibration items", "n_tied").value == 3


@pytest.mark.parametrize("column", ["item_role", "response_role"])
def test_a_column_says_which_response_is_weak_and_wins_over_words(
    tmp_path: Path, column: str
) -> None:
    roles = {"weak_ties_theory": "usual", "plain": "weak", "other": ""}
    rows = [
        f"{who},cal,{name},extra,{roles[name]},{value}"
        for who in "abc"
        for name, value in (("weak_ties_theory", 6), ("plain", 2), ("other", 5))
    ]
    found = with_items(tmp_path / "h.csv", rows, header=f",{column}")
    last = figure(found, "calibration items", "floor_last", group="quality floor")
    assert (last.verdict, last.value) == ("plain", 1.0)


def test_every_item_stands_in_the_estimates_and_few_lines_in_the_terminal(tmp_path: Path) -> None:
    rows = [
        f"{who},cal{k},{name}{k},quality_floor,{value}"
        for k in range(25)
        for who in "abc"
        for name, value in (("weak_", 2 + k % 2), ("y", 5), ("z", 7))
    ]
    found = with_items(tmp_path / "h.csv", rows)
    items = found.estimates[found.estimates["table"] == "calibration items"]
    assert items["item"].nunique() == 25
    text = found.text
    assert all(f"cal{k}" in text for k in range(25))
    assert len(str(found).splitlines()) <= 25


def test_the_family_of_a_model_goes_by_its_name_or_is_told() -> None:
    for name, family in (
        ("openai/gpt-4o-mini", "openai"),
        ("GPT-5.4", "openai"),
        ("Claude 4.6 Opus", "anthropic"),
        ("gemini/gemini-2.5-flash", "google"),
        ("openrouter/meta-llama/llama-3.1-8b", "meta"),
        ("azure/o3-mini", "openai"),
        ("somebody/own-model", "somebody"),
    ):
        assert family_of(name) == family
    assert family_of("azure/deployment-7", {"azure/deployment-7": "openai"}) == "openai"
    assert family_of("mine-7b", {"mine": "ours"}) == "ours"


def test_sources_by_name() -> None:
    assert sources(["human", "M1", None], [None] * 3, [None] * 3).tolist() == [0, 1, -1]
    assert sources(["M1", "M2"], [None] * 2, [None] * 2).tolist() == [-1, -1]
    assert sources([None, None], [None, "gpt"], ["expert_07", None]).tolist() == [0, 1]
