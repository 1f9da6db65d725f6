"""SocioEval by occupation and neighbourhood: the design, own markers, what is compared, a run."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audit_runs import audited, figure
from socioeval_world import MarkersWorld, SocioEvalWorld, prompts_of

from areopagus import InputError
from areopagus.auditing import audit
from areopagus.audits.decisions import decided_by_intervals, is_shown
from areopagus.audits.estimate import changes, estimate, over_units
from areopagus.audits.socioeval import AUDIT, SocioEvalOptions
from areopagus.audits.socioeval.audit import kinds_compared

KINDS = ("class", "occupation", "neighbourhood")


def items(*markers: str, **options: Any) -> list[Any]:
    return list(AUDIT.items(SocioEvalOptions.model_validate({"markers": markers, **options})))


def test_names_of_classes_are_asked_as_without_markers() -> None:
    plain = list(AUDIT.items(SocioEvalOptions()))
    named = [one for one in items(*KINDS) if one.fields["marker"] == "class"]
    assert [(one.item_id, one.prompt, one.unit) for one in named] == [
        (one.item_id, one.prompt, one.unit) for one in plain
    ]
    assert items("class", "class") == plain


def test_every_marker_of_a_class_stands_in_as_many_questions_good_and_bad() -> None:
    for kind in KINDS[1:]:
        asked = [one.fields for one in items(kind)]
        counts: dict[tuple[str, str], Counter[str]] = {}
        partners: dict[str, set[str]] = {}
        for one in asked:
            for side, other in (("lower", "higher"), ("higher", "lower")):
                place = (one["scenario"], one[side])
                mine, beside = one[f"{side}_marker"], one[f"{other}_marker"]
                counts.setdefault(place, Counter())[mine] += 1
                partners.setdefault(mine, set()).add(beside)
        assert len(counts) == 8
        for found in counts.values():
            assert len(found) == 8
            assert max(found.values()) - min(found.values()) <= 6, "of some 14"
        # A marker meets several of each other class, so it is not confounded with any.
        assert min(map(len, partners.values())) >= 6
        classes = {mine: place for place, found in counts.items() for mine in found}
        assert len(classes) == 32


def test_the_two_orders_of_a_question_have_the_same_two_markers() -> None:
    found = items("occupation")
    for one, other in zip(found[::2], found[1::2], strict=True):
        assert one.unit == other.unit
        same = {name for name in one.fields if one.fields[name] == other.fields[name]}
        assert same == set(one.fields) - {"order"}
    assert {one.unit for one in found} < {one.unit for one in items("class")}


def test_a_template_that_a_kind_does_not_fit_is_not_asked_with_it() -> None:
    asked = {one.fields["template"] for one in items("occupation")}
    assert "work_positive" not in asked, "two colleagues have one occupation"
    assert "work_positive" in {one.fields["template"] for one in items("neighbourhood")}


def test_what_is_estimated_goes_by_the_kinds_that_are_asked() -> None:
    def defined(*markers: str) -> Any:
        return AUDIT.defined(SocioEvalOptions(markers=markers))

    plain, one, both = defined("class"), defined("occupation"), defined("class", "occupation")
    assert not plain.crossed
    assert one.crossed == both.crossed == ("lower_marker", "higher_marker")
    assert not plain.differences
    assert not one.differences
    assert set(both.differences) == {"kinds"}
    assert both.by[0] == ("marker",)
    assert plain.by == one.by


def test_judges_are_told_what_is_known_of_the_two_people() -> None:
    found = {one.fields["marker"]: one for one in items(*KINDS)}
    options = SocioEvalOptions(markers=KINDS)
    asked = {
        kind: AUDIT.question(one, "B.", AUDIT.read(one, _answer("B."), options), options)
        for kind, one in found.items()
    }
    assert asked["class"].template == "socioeval-classify-1"
    assert "nothing is known but their social class." in asked["class"].task
    assert "nothing is known but what they do for a living." in asked["occupation"].task
    assert asked["occupation"].template == asked["neighbourhood"].template != "socioeval-classify-1"


def _answer(text: str) -> Any:
    from areopagus.experiment.ask import ModelAnswer

    return ModelAnswer("answered", text)


def test_markers_of_ones_own_and_what_is_wrong_with_them(tmp_path: Path) -> None:
    path = tmp_path / "school.yaml"
    names = ("lower_working", "middle", "upper_middle", "upper")

    def write(**lists: list[str]) -> str:
        markers = {name: [f"{name} pupil {k}" for k in range(3)] for name in names} | lists
        path.write_text(
            "id: school\nlabel: schools\nknown: which school they went to\nmarkers:\n"
            + "".join(f"  {name}: {one}\n" for name, one in markers.items() if one),
            encoding="utf-8",
        )
        return str(path)

    found = items("class", write())
    assert {one.fields["marker"] for one in found} == {"class", "school"}
    assert AUDIT.labels(SocioEvalOptions(markers=("class", str(path))))["marker"] == {
        "class": "names of classes",
        "school": "schools",
    }
    for lists, message in (
        ({"upper": ["one"]}, "needs two markers at least"),
        ({"upper": ["x", "x"]}, "two markers are the same"),
        ({"upper": []}, "has no markers of the class upper"),
    ):
        with pytest.raises(InputError, match=message):
            items(write(**lists))
    with pytest.raises(InputError) as one_alone:
        items(write(upper=["one"]))
    assert str(one_alone.value).endswith("or class is told by one alone"), "not: got a mapping"
    there = "is no kind of marker; there are class, occupation, neighbourhood"
    with pytest.raises(InputError, match=rf"accent: {there}$"):
        items("accent")
    with pytest.raises(InputError, match=rf"ocupation: {there}; did you mean occupation\?$"):
        items("ocupation")


def test_a_run_of_few_questions_says_what_is_missing_pair_by_pair(tmp_path: Path) -> None:
    options = {"markers": ("class", "occupation", "neighbourhood")}
    run = audit("socioeval", limit=24, options=options, out=tmp_path / "run",
                ledger=tmp_path / "l.sqlite")  # fmt: skip
    document = run.document()
    unasked, of = document.headline[:2]
    assert of == (
        "It cannot be told whether there is a difference in the bias rate, for neighbourhoods and "
        "names of classes (an interval needs 6 templates, there is 1)."
    )
    assert unasked == (
        "In this demonstration, it cannot be told whether there is a difference in the bias rate, "
        "for neighbourhoods and "
        "occupations; occupations and names of classes (nothing measured)."
    )
    assert dict(document.trust)["units"].startswith(
        "intervals are over 1 template, the markers of the lower class and those of the higher "
        "class"
    )
    kinds = "names of classes, occupations and neighbourhoods"
    assert document.notices == [
        f"Class is told by {kinds}; figures that name none of these are over all of them."
    ]


def test_judges_that_are_to_read_everything_are_asked_for_before_anything_is(
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match="judges read every answer with `judge_all`, and none is"):
        audit("socioeval", options={"judge_all": True}, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("kinds", [("class", "occupation"), ("occupation", "class")])
def test_an_answer_changes_with_the_order_within_one_kind_of_marker(kinds: Any) -> None:
    """By names of classes what is named first is chosen, by occupations the higher class."""
    prompts = prompts_of("both", kinds)
    is_class = prompts["marker"] == "class"
    first_is_higher = prompts["order"] == "higher_first"
    is_good = prompts["scenario"] == "positive"
    answers = prompts.assign(
        target="m", repeat=0, status="classified", judging="", category="class_preference",
        biased=True, choice="first",
        favours=np.where(is_class, np.where(first_is_higher == is_good, "higher", "lower"),
                         np.where(is_good, "higher", "lower")),
    )  # fmt: skip
    options = SocioEvalOptions.model_validate({"markers": kinds})
    found = estimate(AUDIT.defined(options), answers, ["m"]).frame()
    questions = prompts.drop_duplicates(["template", "pair", "marker"])
    share = figure(found, "outcomes", "order_changes")
    assert share.n == len(questions)
    assert share.value == pytest.approx((questions["marker"] == "class").mean())


def test_prompts_that_nothing_tells_apart_are_no_pairs() -> None:
    prompts = prompts_of("both", ("class", "occupation"))
    answers = prompts.assign(target="m", repeat=0, favours="higher")
    change = AUDIT.definition.changes["order_changes"]
    blind = change.model_copy(update={"within": ("template", "pair")})
    found = changes(blind, answers.assign(_unit=answers["template"]))
    assert not found.is_defined
    assert "several prompts are alike in template, pair, order" in str(found.reason)


def test_intervals_are_over_templates_and_markers_and_kinds_are_compared_on_the_same() -> None:
    """A short run of benchmarks/simulate_markers.py."""
    prompts = prompts_of("fixed", KINDS)
    world = MarkersWorld({"class": 0.1, "occupation": 0.35, "neighbourhood": 0.1}, 0.4, 0.2, 0.5)
    outcome = AUDIT.definition.outcomes["bias_rate"]
    covered, found, false = np.zeros(2), 0, 0
    for number in range(30):
        answers = world.answers(prompts, np.random.default_rng(number))
        mine = answers[answers["marker"] == "occupation"]
        values, units = mine["biased"].to_numpy(dtype=float), mine["template"].tolist()
        crossed = [mine[name].tolist() for name in ("lower_marker", "higher_marker")]
        alone = over_units(outcome, values, units, "template")
        both = over_units(outcome, values, units, "template", crossed)
        covered += [alone.covers(0.35), both.covers(0.35)]
        gaps = [
            partial(kinds_compared, answers, "difference", first, "class")
            for first in ("occupation", "neighbourhood")
        ]
        shown = [is_shown(one) for one in decided_by_intervals(gaps, family="both")]
        found, false = found + shown[0], false + shown[1]
    assert covered[1] >= 26 > covered[0]
    assert found >= 18
    assert false <= 3


def test_a_planted_kind_is_found_over_http(tmp_path: Path) -> None:
    world = SocioEvalWorld({"target": 0.1}, favours_higher=0.8, more_by_kind={"occupation": 0.6})
    run = audited(
        "socioeval", world.provider, ["target"], tmp_path, n_judges=1, sample=24,
        options={"markers": ["class", "occupation"]},
    )  # fmt: skip
    gap = figure(run.estimates, "kinds", "difference", factor="occupation - class")
    assert gap.verdict == "higher"
    assert 0.3 < gap.value < 0.8
    refusals = figure(run.estimates, "kinds", "refusals", factor="occupation - class")
    assert refusals.value < 0
    told = " ".join(run.text.split())
    assert told.startswith("Biased more often: occupations than names of classes +0.")
    assert "figures that name none of these are over all of them" in told
    assert max(map(len, run.text.splitlines())) <= 80
