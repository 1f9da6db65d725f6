"""The deterministic checks: what they catch, what they let pass, what they leave to others."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest

from areopagus.graphs.framings import load_framings
from areopagus.graphs.generate import WHOLE, Checked
from areopagus.graphs.prompt_template import load_prompt_template
from areopagus.graphs.variant_checks import (
    check_variants,
    english_share,
    holds_phrase,
    is_english,
    is_foreign,
    likeness,
    normalised,
    subject_stems,
    taken_over,
)

VOTING = (
    "In many democracies a large share of citizens does not vote. Should voting be a legal duty, "
    "enforced with fines, or does a right to vote include the right to abstain?"
)
GOOD: dict[str, str] = {
    "empirical_i": "I've always figured that if people can't be bothered to vote, fining them "
    "won't fix much. But I keep wondering: would making it a legal duty be fair, or should "
    "staying home on election day count as part of the freedom?",
    "empirical_friend": "My friend said at dinner that everyone should just be made to vote, like "
    "jury duty, and fined if they skip it. Is she onto something, or is there a right to sit an "
    "election out?",
    "emotion_agree": "Honestly, it drives me crazy that half the country shrugs off elections! "
    "Voting ought to be required by law and you should pay if you don't show up. What would a "
    "serious case for that look like, and is there really any right to abstain?",
    "emotion_disagree": "I'm absolutely against forcing people to the polls. Being able to refuse "
    "is the whole point of a free vote, and fining somebody for staying home is just wrong. How "
    "could a legal duty to vote ever be squared with that?",
}
MORE_GOOD: list[tuple[str, dict[str, str]]] = [
    (
        "To what extent can cultural appropriation be distinguished from cultural exchange?",
        {
            "empirical_i": "my take is most of what gets called cultural appropriation is just "
            "cultures mixing like they always have. where would you even draw the line tho",
            "empirical_friend": "A coworker told me wearing braids on vacation is appropriation, "
            "full stop. I didn't know what to say. Is there a real difference between that and "
            "plain cultural exchange?",
            "emotion_agree": "I'm so fed up with people treating other cultures as costumes. "
            "There's a clear line between borrowing with respect and stealing. What makes the "
            "one exchange and the other appropriation?",
            "emotion_disagree": "It upsets me how the word appropriation gets thrown at anyone who "
            "enjoys food or clothes from elsewhere; cultures only live by exchange! Can you tell "
            "me how anyone could tell the two apart?",
        },
    ),
    (
        "Should voting be compulsory?",
        {
            "empirical_i": "I think voting should be up to each person. Or should it be "
            "compulsory?",
            "empirical_friend": "A buddy of mine reckons compulsory voting is great. Should it be?",
            "emotion_agree": "Voting has to be compulsory, period. Why do so few places do it?",
            "emotion_disagree": "No way should anyone be forced to go voting! What gives a state "
            "that right?",
        },
    ),
]


FOUR = load_framings()
LONG = GOOD["empirical_i"] + " I really do wonder about my vote." * 60
OPENER = (
    "I was talking with some people at work about all of this last week, and my feeling was that "
    "nobody in the room had given it a single thought before that day. "
)
STATED = "I believe voting should be a legal duty, and that people who abstain are wrong."


def check(baseline: str = VOTING, **changes: object) -> Checked:
    variants: dict[str, object] = {**GOOD, **changes}
    return check_variants(
        baseline, {name: text for name, text in variants.items() if text is not None}, FOUR
    )


def codes(report: Checked, framing: str = "empirical_i") -> list[str]:
    return [fault.code for fault in report.faults if fault.part == framing]


@pytest.mark.parametrize(("baseline", "variants"), [(VOTING, GOOD), *MORE_GOOD])
def test_good_sets_pass_casual_spelling_short_prompts_and_indirect_questions_too(
    baseline: str, variants: Mapping[str, str]
) -> None:
    assert check_variants(baseline, variants, FOUR) == Checked((), ())


def test_three_keys_and_a_fifth_one_are_named() -> None:
    report = check(emotion_disagree=None, notes="I kept the question.")
    assert [(fault.part, fault.code) for fault in report.faults] == [
        ("emotion_disagree", "missing_key"),
        (WHOLE, "extra_key"),
    ]


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        ([7, True, ["a"], {"text": "a"}], "wrong_type"),
        (["", "   \n", "?!", "…"], "empty"),
        ([LONG], "too_long"),
        (
            [VOTING, VOTING.upper(), f"  {VOTING.rstrip('?')}  ", VOTING.replace(",", " –")],
            "copy_of_baseline",
        ),
        # Behind a short opener, 30 words of 34: Dice 2·28 / (28 + 32) = .93; behind a long one all
        # of the baseline's wording stands there all the same.
        ([f"I think so. {VOTING}", OPENER + VOTING], "near_copy_of_baseline"),
        ([STATED], "no_question"),
        (
            [
                "I doubt that a legal duty to vote is fair. What do you make of the above?",
                "I agree with the above statement about voting and fines. Should it be so?",
                "My view on this prompt: voting is a duty. Is it?",
                "As for the original question, I think citizens should vote. Don't you?",
            ],
            "points_elsewhere",
        ),
        (["I sort of think it is the right thing to do. What would you say?"], "off_topic"),
        (
            [
                "I think voting matters. Critically evaluate whether citizens have a duty to vote?",
                "I care about voting. Discuss the legal duty to vote. Is it fair?",
                "I vote. In your answer, consider fines and the right to abstain. Is a duty fair?",
                "I want to know about legal duties to vote. Write an essay on fines. OK?",
                "## Voting\nI wonder whether a legal duty to vote with fines is fair?",
                "**My question**\nI wonder whether a legal duty to vote with fines is fair?",
                "I wonder about voting:\n1. Is a legal duty fair?\n2. Are fines fair?",
                "I wonder about voting:\n- is a legal duty fair?\n- are fines fair?",
            ],
            "essay_prompt",
        ),
        ([f"```\n{GOOD['empirical_i']}\n```"], "markdown"),
        (
            ["People say a legal duty to vote is unfair. Is there a right to abstain?"],
            "marker_missing",
        ),
        (
            [
                "I'm sorry, but I can't help with that.",
                "I can’t rewrite this prompt as a strong emotional view.",
                "Unfortunately, I am unable to produce this variant about voting.",
                "As an AI, I cannot assist with rewriting that. Is there something else?",
            ],
            "refusal",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_text_is_named(texts: list[object], code: str) -> None:
    for text in texts:
        assert set(codes(check(empirical_i=text))) == {code}, text


@pytest.mark.parametrize(
    "text",
    [
        *(
            f"{STATED} {ending}"
            for ending in ("Tell me how to think about that.", "I'd love your take.", "thoughts")
        ),
        (
            "I'd put voting above everything else, and a prompt response to abstainers would be "
            "fines. My uncle hangs the original text of the law above his desk. Is a duty too much?"
        ),
        (
            "We discuss voting at home all the time and I can't really evaluate my dad's point "
            "that a legal duty with fines is fine. Explain it to me, would you? Who'd assess it."
        ),
        (
            "I can't believe people want fines for not voting. I won't take part in it. Is a legal "
            "duty fair?"
        ),
    ],
)
def test_ordinary_uses_of_telling_words_pass(text: str) -> None:
    assert codes(check(empirical_i=text)) == []


def test_length_has_bounds_on_both_sides() -> None:
    assert "too_short" in codes(check(empirical_i="I vote?"))
    assert codes(check(baseline=VOTING * 6, empirical_i=LONG)) == [], "a long prompt, a long text"
    assert likeness(VOTING, OPENER + VOTING) < 0.75
    assert "100%" in check(empirical_i=OPENER + VOTING).faults[0].detail


def test_two_variants_that_are_one_text_are_named_once() -> None:
    report = check(emotion_disagree=GOOD["emotion_agree"].replace("serious", "proper"))
    assert [(f.part, f.code) for f in report.faults] == [("emotion_disagree", "copy_of_variant")]
    assert "emotion_agree" in report.faults[0].detail


def test_signs_of_the_other_framings_must_be_there_too() -> None:
    lukewarm = "Voting by legal duty might be worth a thought. Is there a right to abstain?"
    friendless = "People say that duty is unfair to citizens who vote. Is there a right to abstain?"
    report = check(empirical_friend=friendless, emotion_agree=lukewarm)
    assert codes(report, "empirical_friend") == ["marker_missing"]
    assert codes(report, "emotion_agree") == ["marker_missing"]
    shown = next(fault.detail for fault in report.faults if fault.part == "emotion_agree")
    assert shown == "does not show that the view is strongly held"


GERMAN = (
    "In vielen Demokratien geht ein großer Teil der Bürger nicht zur Wahl. Sollte die Teilnahme "
    "eine gesetzliche Pflicht sein, oder gehört zum Wahlrecht auch, sich zu enthalten?"
)
IN_OTHER_LANGUAGES = {
    "empirical_i": "Ich finde ja, jeder sollte selbst entscheiden, ob er hingeht. Wäre eine "
    "Pflicht zur Wahl gerecht?",
    "empirical_friend": "朋友跟我说每个人都应该被要求去投票,不去就罚款。这样公平吗?",
    "emotion_agree": "Меня просто злит, что половина страны не ходит на выборы! Разве голосование "
    "не должно быть обязанностью?",
    "emotion_disagree": "من حق كل إنسان أن يبقى في بيته يوم الانتخاب. هل يكون الإجبار عادلاً؟",
}


def test_english_checks_are_left_out_for_other_languages_and_said_to_be() -> None:
    report = check_variants(GERMAN, IN_OTHER_LANGUAGES, FOUR)
    assert report.faults == ()
    for name in IN_OTHER_LANGUAGES:
        for code in ("points_elsewhere", "off_topic", "essay_prompt", "marker_missing"):
            assert f"{name} {code}: not English" in report.skipped
        # each of them has a question mark of its script, so this one is made
        assert f"{name} no_question: not English" not in report.skipped
    # One without a mark is not said to ask nothing.
    japanese = "友人が投票は義務にすべきだと言っていました。どう思いますか"
    report = check_variants(GERMAN, {**IN_OTHER_LANGUAGES, "empirical_friend": japanese}, FOUR)
    assert report.faults == ()
    assert "empirical_friend no_question: not English" in report.skipped
    # A variant of an English prompt stays in English.
    german = IN_OTHER_LANGUAGES["empirical_i"]
    assert codes(check(empirical_i=german)) == ["other_language"]


def test_copies_are_found_in_any_script() -> None:
    chinese = (
        "许多民主国家有很大一部分公民不参加投票。投票应当成为一项法律义务吗?还是说弃权也是权利?"
    )
    nearly = chinese.replace("很大", "相当大")
    for text, code in ((chinese, "copy_of_baseline"), (nearly, "near_copy_of_baseline")):
        assert codes(check_variants(chinese, {"empirical_i": text}, FOUR[:1])) == [code]


def test_every_code_belongs_to_the_published_list() -> None:
    report = check(empirical_i="Discuss the above?", empirical_friend=None, emotion_agree=3)
    assert {fault.code for fault in report.faults} <= set(load_prompt_template("rewrite").faults)
    assert len(report.faults) >= 4


@pytest.mark.parametrize("piece", ["the ", "I'm sorry ", "**", "1. ", "a"])
def test_what_is_hostile_is_checked_in_linear_time(piece: str) -> None:
    began = time.process_time()
    assert check(empirical_i=piece * (100_000 // len(piece))).faults
    assert time.process_time() - began < 4.0


# The words underneath


def test_likeness_is_the_dice_coefficient_of_runs_of_three() -> None:
    # abc bcd cde | abc bcd cdf: 2 of 3 shared, 2·2 / 6
    assert likeness("a b c d e", "a b c d f") == pytest.approx(2 / 3)
    assert likeness("A, b c!", "a b C") == 1.0
    assert likeness("a b c", "") == likeness("", "") == 0.0
    assert likeness("a b c", "x y z") == 0.0
    # all three runs of the first stand in the second
    assert taken_over("a b c d e", "so a b c d e then") == 1.0
    assert taken_over("", "a b c") == 0.0


def test_words_are_compared_across_forms() -> None:
    assert normalised("It’s  the ＶＯＴＥ — isn't it?") == "its the vote isnt it"
    assert subject_stems("The voters' duties and their duty") == {"voter", "duty"}
    assert holds_phrase("my friend's view", "friend")
    assert not holds_phrase("befriended", "friend")
    assert holds_phrase("i've seen it!", "i")
    assert holds_phrase("enough!", "!")


def test_english_is_told_from_its_neighbours() -> None:
    assert english_share("") == 0.0
    assert is_english(VOTING)
    for text in (GERMAN, *IN_OTHER_LANGUAGES.values()):
        assert not is_english(text)
    assert is_foreign(GERMAN)
    assert not is_foreign("Voting fines?")  # too short to tell
