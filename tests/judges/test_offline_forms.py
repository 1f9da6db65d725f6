"""`offline/respondent` where a prompt asks for an answer in a set form."""

from __future__ import annotations

from collections import Counter

from areopagus.audits import lettered, one_of, whole_number
from areopagus.judges.offline import offline_reply
from areopagus.judges.offline_respondent import offline_answer, offline_essay


def test_every_option_comes_up_about_equally_often_and_the_same_for_the_same_prompt() -> None:
    prompts = [
        f"Question {n}?\n\n{lettered(['x', 'y', 'z'])}\n\n{one_of('A', 'B', 'C')}"
        for n in range(900)
    ]
    found = Counter(map(offline_answer, prompts))
    assert set(found) == {"A", "B", "C"}
    # 300 each, binomial SD 14.
    assert all(abs(number - 300) < 60 for number in found.values())
    assert [offline_answer(prompt) for prompt in prompts[:20]] == [
        offline_reply("respondent", [{"role": "user", "content": prompt}], None)
        for prompt in prompts[:20]
    ]


def test_numbers_stay_on_their_scale_and_reach_both_ends() -> None:
    found = {int(offline_answer(f"Case {n}. {whole_number(1, 10)}.")) for n in range(400)}
    assert found == set(range(1, 11))


def test_the_last_form_counts_and_marks_around_options_are_no_part_of_them() -> None:
    prompt = f'{one_of("A", "B")}. Or rather reply with exactly one of: "P1" / "other".'
    assert {offline_answer(f"{n} {prompt}") for n in range(40)} == {"P1", "other"}
    begun = "Begin your reply with exactly one of: A / B\nThen give your reason."
    assert {offline_answer(f"{n} {begun}") for n in range(40)} == {"A", "B"}


def test_a_prompt_without_a_form_gets_an_essay() -> None:
    for prompt in ("Is one of them right?", "Exactly one of these problems is hard.", "Why?"):
        assert offline_answer(prompt) == offline_essay(prompt)
