"""The paper's human-study figures and calibration items, on small hand-made studies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from areopagus.calibration import agreement, calibrate
from areopagus.calibration.families import family_of
from areopagus.calibration.responses import sources

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
    paper = agreement(study(tmp_path / "h.csv", rows)).paper
    # a, p1: models win 4 of 4. b, p1: 0 of 4. a, p2: m1 ties both people, m2 loses to both: 2 ties.
    assert (paper.n_pairs, paper.n_tied) == (12, 2)
    assert paper.model_wins.value == pytest.approx((4 + 2 / 2) / 12)
    assert paper.model_wins_untied.value == pytest.approx(4 / 10)
    # first: model; person; one of three shared firsts is a model
    assert paper.model_first.value == pytest.approx((1 + 0 + 1 / 3) / 3)
    means = {(row.group, row.domain): row.mean.value for row in paper.means}
    # people: p1 mean of (3, 4, 1, 2) = 2.5, p2 mean of (1, 1) = 1
    assert means["people", "all"] == pytest.approx((2.5 + 1) / 2)
    assert means["people", "HLE"] == 1
    assert means["claude", "all"] == pytest.approx((2.5 + 4) / 2)
    assert [row.domain for row in paper.by_domain] == ["BBQ", "HLE"]
    assert math.isnan(paper.by_domain[1].w.value)  # one rater


def test_calibration_items_are_kept_apart(tmp_path: Path) -> None:
    rows = packet("a", "p1", (3, 4, 1, 2)) + packet("b", "p1", (4, 3, 2, 1))
    for rater, ranks in (("a", (1, 2, 3)), ("b", (2, 1, 3)), ("c", (1, 3, 2))):
        for name, rank in zip(("x", "y", "weak_z"), ranks, strict=True):
            rows.append(f"cal1,{name},quality_floor,llm,{name},{rank},{10 - rank},{rater},BBQ")
    for rater in ("a", "b"):
        for name, rank in (("u", 1), ("v", 2)):
            rows.append(f"cal2,{name},source_attribution,llm,{name},{rank},{9 - rank},{rater},BBQ")
    report = agreement(study(tmp_path / "h.csv", rows))
    assert report.matched.n_prompts == 1
    assert report.matched.n_calibration_ratings == 2 * (9 + 4)
    items = {(one.prompt, one.criterion): one for one in report.people.items}
    floor = items["cal1", "overall, rank"]
    assert (floor.role, floor.floor_response, floor.n_raters) == ("quality floor", "weak_z", 3)
    assert floor.floor_last.value == pytest.approx(2 / 3)  # c puts y last
    models = items["cal2", "overall, score"]
    assert models.role == "all models"
    # 8 and 7 here; models' scores on p1 are 9, 8, 8, 9
    assert models.gap_to_standard.value == pytest.approx(7.5 - 8.5)
    assert models.w.value == 1


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
    assert report.paper.inferred.value == pytest.approx((4 - 1) / math.sqrt(6 * 5))
    assert "INFERRED" in report.paper.inferred.method
    assert "INFERRED" in "\n".join(report.text())


def test_responses_called_alike_under_every_prompt_are_told_apart(tmp_path: Path) -> None:
    lines = ["rater_id,prompt_id,response_id,score"]
    for prompt in ("p1", "p2"):
        for rater in ("a", "b"):
            for name, score in (("A", 3), ("B", 5 if prompt == "p1" else 1)):
                lines.append(f"{rater},{prompt},{name},{score}")
    path = tmp_path / "h.csv"
    path.write_text("\n".join(lines) + "\n")
    report = agreement(path)
    assert (report.matched.n_responses, report.matched.n_repeated) == (4, 0)
    assert report.people.criteria[0].pairwise.tau.value == 1


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("openai/gpt-4o-mini", "openai"),
        ("GPT-5.4", "openai"),
        ("anthropic/claude-sonnet-4-5", "anthropic"),
        ("Claude 4.6 Opus", "anthropic"),
        ("gemini/gemini-2.5-flash", "google"),
        ("openrouter/meta-llama/llama-3.1-8b", "meta"),
        ("azure/o3-mini", "openai"),
        ("somebody/own-model", "somebody"),
    ],
)
def test_the_family_of_a_model_goes_by_its_name(name: str, family: str) -> None:
    assert family_of(name) == family


def test_families_can_be_told() -> None:
    assert family_of("azure/deployment-7", {"azure/deployment-7": "openai"}) == "openai"
    assert family_of("mine-7b", {"mine": "ours"}) == "ours"


def test_sources_by_name() -> None:
    assert sources(["human", "M1", None], [None] * 3, [None] * 3).tolist() == [0, 1, -1]
    assert sources(["M1", "M2"], [None] * 2, [None] * 2).tolist() == [-1, -1]
    assert sources([None, None], [None, "gpt"], ["expert_07", None]).tolist() == [0, 1]
