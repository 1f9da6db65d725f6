import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areopagus.judges.logprobs import WeightedScores, weighted_scores
from areopagus.judges.schema import OutputSchema, ParsedScore, judgment_schema
from areopagus.records.types import Reply

Position = tuple[str, dict[str, float]]
"""A sampled token, and the probabilities of tokens at its place."""

BARE = judgment_schema(("overall",), 1, 10, abstained=False, rationale=False)
TWO = judgment_schema(("clarity", "grounding"), 1, 10, abstained=True, rationale=False)


def scale(low: int, high: int) -> OutputSchema[ParsedScore]:
    return judgment_schema(("overall",), low, high, abstained=False, rationale=False)


def logprobs(positions: list[Position]) -> list[dict[str, Any]]:
    return [
        {
            "token": token,
            "logprob": math.log(listed.get(token, 1.0)),
            "top_logprobs": [{"token": t, "logprob": math.log(p)} for t, p in listed.items()],
        }
        for token, listed in positions
    ]


def reply(positions: list[Position], text: str | None = None) -> Reply:
    spelled = "".join(token for token, _ in positions)
    return Reply(text=spelled if text is None else text, logprobs=logprobs(positions))


def sure(token: str) -> Position:
    return token, {token: 1.0}


def overall(*number: Position, before: str = '{"overall": ', after: str = "}") -> Reply:
    return reply([sure(before), *number, *([sure(after)] if after else [])])


def value_of(result: WeightedScores, criterion: str = "overall") -> float:
    assert result.problem is None, result
    return result.values[criterion]


def test_the_mean_is_weighted_by_probability() -> None:
    # (0.6*7 + 0.3*8 + 0.1*6) / 1 = 7.2
    result = weighted_scores(overall(("7", {"7": 0.6, "8": 0.3, "6": 0.1})), BARE)
    assert value_of(result) == pytest.approx(7.2)
    assert result.mass == {"overall": pytest.approx(1.0)}


def test_mass_off_the_scale_is_left_out_and_reported() -> None:
    # (0.6*7 + 0.32*8) / 0.92 = 6.76/0.92; "0", "11" and "x" are no values of 1-10
    listed = {"7": 0.6, "8": 0.32, "0": 0.03, "11": 0.03, "x": 0.02}
    result = weighted_scores(overall(("7", listed)), BARE)
    assert value_of(result) == pytest.approx(6.76 / 0.92)
    assert result.mass == {"overall": pytest.approx(0.92)}


def test_too_little_mass_on_the_scale_is_not_computable() -> None:
    answer = overall(("7", {"7": 0.6, "8": 0.2, "high": 0.2}))
    result = weighted_scores(answer, BARE)
    assert (result.values, result.problem) == ({}, "mass")
    assert result.mass == {"overall": pytest.approx(0.8)}
    assert value_of(weighted_scores(answer, BARE, min_mass=0.75)) == pytest.approx(5.8 / 0.8)


def test_ten_as_one_token() -> None:
    # 0.5*10 + 0.3*9 + 0.2*1 = 7.9: a vocabulary that has "10" writes the value 1 as "1"
    result = weighted_scores(overall(("10", {"10": 0.5, "9": 0.3, "1": 0.2})), BARE)
    assert value_of(result) == pytest.approx(7.9)


def test_ten_as_two_tokens_is_divided_by_what_follows_the_sampled_one() -> None:
    # "1" has 0.5; after it "0" has 0.8 (10) and "}" has 0.2 (1): 0.4*10 + 0.1*1 + 0.5*9 = 8.6
    first = ("1", {"1": 0.5, "9": 0.5})
    sampled_ten = overall(first, ("0", {"0": 0.8, "}": 0.2}))
    assert value_of(weighted_scores(sampled_ten, BARE)) == pytest.approx(8.6)
    sampled_one = overall(first, ("}", {"0": 0.8, "}": 0.2}), after="")
    assert value_of(weighted_scores(sampled_one, BARE)) == pytest.approx(8.6)


def test_a_first_digit_that_was_not_sampled_is_refused_where_ten_may_be_two_tokens() -> None:
    result = weighted_scores(overall(("9", {"9": 0.7, "1": 0.3})), BARE)
    assert (result.values, result.problem) == ({}, "two_token_values")


def test_a_hardly_likely_first_digit_is_left_out_of_the_mass() -> None:
    result = weighted_scores(overall(("9", {"9": 0.7, "8": 0.295, "1": 0.005})), BARE)
    assert value_of(result) == pytest.approx((0.7 * 9 + 0.295 * 8) / 0.995)
    assert result.mass == {"overall": pytest.approx(0.995)}
    strict = weighted_scores(
        overall(("9", {"9": 0.7, "8": 0.295, "1": 0.005})), BARE, max_unsettled=0.001
    )
    assert strict.problem == "two_token_values"


def test_a_one_token_ten_elsewhere_in_the_reply_shows_the_vocabulary() -> None:
    # clarity: 0.7*9 + 0.3*1 = 6.6 because "10" is seen as one token under grounding
    answer = reply(
        [
            sure('{"clarity": '),
            ("9", {"9": 0.7, "1": 0.3}),
            sure(', "grounding": '),
            ("8", {"8": 0.99, "10": 0.01}),
            sure(', "abstained": false}'),
        ]
    )
    result = weighted_scores(answer, TWO)
    assert value_of(result, "clarity") == pytest.approx(6.6)
    assert value_of(result, "grounding") == pytest.approx(8.02)


def test_a_ten_inside_a_word_shows_nothing() -> None:
    answer = overall(("9", {"9": 0.7, "1": 0.29, "10th": 0.01}))
    assert weighted_scores(answer, BARE).problem == "two_token_values"


def test_a_bare_one_at_the_end_of_the_tokens_is_refused() -> None:
    # Nothing says how likely a "0" was after it.
    assert weighted_scores(reply([("1", {"1": 0.9, "2": 0.1})]), BARE).problem == (
        "two_token_values"
    )


def test_a_bare_one_is_divided_by_the_end_token() -> None:
    for end in ("<|im_end|>", ""):
        # 0.9*0.75*1 + 0.9*0.25*10 + 0.1*2 = 3.125
        answer = reply([("1", {"1": 0.9, "2": 0.1}), (end, {end: 0.75, "0": 0.25})], "1")
        assert value_of(weighted_scores(answer, BARE)) == pytest.approx(3.125)


def test_single_digits_on_a_hundred_point_scale() -> None:
    # One digit a token: sampled 8 then 5; "7" may be 7 or 70 to 79.
    number = [("8", {"8": 0.6, "7": 0.4}), ("5", {"5": 0.5, "0": 0.5})]
    assert weighted_scores(overall(*number), scale(1, 100)).problem == "two_token_values"
    # All of it on the sampled path: 0.5*85 + 0.5*80 = 82.5
    number = [("8", {"8": 1.0}), ("5", {"5": 0.5, "0": 0.5})]
    assert value_of(weighted_scores(overall(*number), scale(1, 100))) == pytest.approx(82.5)


def test_three_digits_in_three_tokens() -> None:
    # "1" then "0" (0.5) or "}" (0.5); after "10": "0" 0.4 or "}" 0.6:
    # 0.5*1 + 0.5*(0.4*100 + 0.6*10) = 23.5
    number = [("1", {"1": 1.0}), ("0", {"0": 0.5, "}": 0.5}), ("0", {"0": 0.4, "}": 0.6})]
    assert value_of(weighted_scores(overall(*number), scale(1, 100))) == pytest.approx(23.5)


def test_two_digit_tokens_show_two_digits_only() -> None:
    # "8" is 8 where "85" is one token; "10" may still be the start of 100 ("100" was not seen).
    eight = overall(("85", {"85": 0.7, "8": 0.3}))
    assert value_of(weighted_scores(eight, scale(1, 100))) == pytest.approx(61.9)
    ten = overall(("85", {"85": 0.7, "10": 0.3}))
    assert weighted_scores(ten, scale(1, 100)).problem == "two_token_values"
    hundred = overall(("85", {"85": 0.6, "10": 0.3, "100": 0.1}))
    assert value_of(weighted_scores(hundred, scale(1, 100))) == pytest.approx(64.0)


def test_a_scale_from_zero() -> None:
    # 0.5*0 + 0.25*1 + 0.25*4 = 1.25: no value of 0-4 has two digits, so "1" is settled
    result = weighted_scores(overall(("0", {"0": 0.5, "1": 0.25, "4": 0.25})), scale(0, 4))
    assert value_of(result) == pytest.approx(1.25)


def test_tokens_that_hold_more_than_the_number() -> None:
    # The same distribution, 0.6*7 + 0.4*8 = 7.4, however the vocabulary cuts the text.
    cuts: list[list[Position]] = [
        [sure('{"overall":'), (" 7", {" 7": 0.6, " 8": 0.4}), sure("}")],
        [sure('{"overall":'), (" 7", {" 7": 0.6, "8": 0.4}), sure("}")],
        [sure('{"overall": '), ("7}", {"7}": 0.6, "8": 0.3, "8}": 0.1})],
        [sure('{"overall": '), ("7", {"7": 0.6, "8\n": 0.4}), sure("\n}")],
        [sure('{"overall'), ('": 7', {'": 7': 0.6, '":8': 0.4}), sure("}")],
        [sure('{"overall":\n'), ("7", {"7": 0.6, " 8 ": 0.4}), sure("}")],
    ]
    for cut in cuts:
        assert value_of(weighted_scores(reply(cut), BARE)) == pytest.approx(7.4)


def test_a_token_that_starts_no_value_of_the_scale_covers_nothing() -> None:
    for other in ("8.5", "8e1", "-8", '"8', "08", "eight", "8/10", " ", "", "٨"):
        result = weighted_scores(overall(("7", {"7": 0.95, other: 0.05})), BARE)
        assert value_of(result) == pytest.approx(7.0)
        assert result.mass == {"overall": pytest.approx(0.95)}


def test_a_digit_in_the_criterion_is_not_the_score() -> None:
    contract = judgment_schema(("q1", "q2"), 1, 10, abstained=False, rationale=False)
    answer = reply(
        [
            sure('{"q'),
            ('1": 7', {'1": 7': 0.5, '1": 9': 0.5}),
            sure(', "q2": '),
            ("3", {"3": 1.0}),
            sure("}"),
        ]
    )
    assert weighted_scores(answer, contract).values == {
        "q1": pytest.approx(8.0),
        "q2": pytest.approx(3.0),
    }


def test_a_number_in_the_rationale_is_not_the_score() -> None:
    contract = judgment_schema(("overall",), 1, 10, abstained=False, rationale=True)
    answer = reply(
        [
            sure('{"rationale": "\\"overall\\": '),
            ("2", {"2": 0.5, "3": 0.5}),
            sure(', {é", "overall": '),
            ("6", {"6": 0.5, "7": 0.5}),
            sure("}"),
        ]
    )
    assert value_of(weighted_scores(answer, contract)) == pytest.approx(6.5)


def test_bytes_tell_what_half_a_character_cannot() -> None:
    contract = judgment_schema(("overall",), 1, 10, abstained=False, rationale=True)
    entries = logprobs([sure('{"rationale": "'), sure("a"), sure("b"), sure('", "overall": ')])
    entries += logprobs([("6", {"6": 0.5, "8": 0.5}), sure("}")])
    for entry, half in zip(entries[1:3], ([0xC3], [0xA9]), strict=True):
        entry.update(token="\ufffd", bytes=half)
        entry["top_logprobs"] = [{"token": "\ufffd", "bytes": half, "logprob": 0.0}]
    text = '{"rationale": "é", "overall": 6}'
    assert value_of(weighted_scores(Reply(text=text, logprobs=entries), contract)) == 7.0
    for entry in entries:
        for shown in (entry, *entry["top_logprobs"]):
            shown.pop("bytes", None)
    assert weighted_scores(Reply(text=text, logprobs=entries), contract).problem == "misaligned"


def test_a_fence_and_stripped_space_and_an_end_token_do_not_matter() -> None:
    number: Position = ("7", {"7": 0.6, "8": 0.4})
    fenced = reply([sure("```json\n"), sure('{"overall": '), number, sure("}\n"), sure("```")])
    assert value_of(weighted_scores(fenced, BARE)) == pytest.approx(7.4)
    stripped = reply(
        [sure(" "), sure('{"overall": '), number, sure("}"), sure("<|eot|>")], '{"overall": 7}'
    )
    assert value_of(weighted_scores(stripped, BARE)) == pytest.approx(7.4)


def test_the_order_of_alternatives_and_a_token_listed_twice_change_nothing() -> None:
    answer = overall(("7", {"7": 0.6, "8": 0.3, "6": 0.1}))
    assert answer.logprobs is not None
    first = weighted_scores(answer, BARE)
    listed = answer.logprobs[1]["top_logprobs"]
    answer.logprobs[1]["top_logprobs"] = [*reversed(listed), dict(listed[0])]
    assert weighted_scores(answer, BARE) == first


def test_the_sampled_token_counts_where_it_is_not_among_the_listed() -> None:
    # Sampled "5" with 0.1 beside the listed 0.5*7 + 0.4*8: 0.5 + 3.5 + 3.2 = 7.2
    answer = overall(("5", {"7": 0.5, "8": 0.4}))
    assert answer.logprobs is not None
    answer.logprobs[1]["logprob"] = math.log(0.1)
    assert value_of(weighted_scores(answer, BARE)) == pytest.approx(7.2)


def test_without_a_distribution_the_integer_does_not_stand_in() -> None:
    token = {"token": '{"overall": 7}', "logprob": -0.01}
    missing: list[list[Any] | None]
    missing = [None, [], [{**token, "top_logprobs": None}], [{**token, "top_logprobs": []}]]
    for listed in missing:
        result = weighted_scores(Reply(text='{"overall": 7}', logprobs=listed), BARE)
        assert (result.values, result.problem) == ({}, "no_logprobs")


def test_a_reply_without_a_vote_and_an_abstention_have_no_expected_scores() -> None:
    for text in ('{"overall": 70}', "no", None):
        result = weighted_scores(Reply(text=text, logprobs=logprobs([sure("7")])), BARE)
        assert result.problem == "not_scored"
        assert "unreadable" in (result.detail or "")
    answer = reply([sure('{"clarity": 1, "grounding": 1, "abstained": true}')])
    assert weighted_scores(answer, TWO).problem == "not_scored"


def test_tokens_that_do_not_spell_the_reply_are_refused() -> None:
    for spelled in ('{"overall": 8}', '{"overall":7}', "▁7", "", "7" * 3):
        answer = reply([sure(spelled)], '{"overall": 7}')
        assert weighted_scores(answer, BARE).problem == "misaligned"


def test_a_reply_that_its_tokens_spell_twice_is_refused() -> None:
    answer = reply([sure("<think>"), sure("7"), sure("</think>"), sure("7")], "7")
    assert weighted_scores(answer, BARE).problem == "misaligned"


def test_log_probabilities_of_another_form_are_refused() -> None:
    for entry in (
        None,
        "7",
        {"token": "7"},
        {"token": "7", "logprob": None},
        {"token": "7", "logprob": "-0.1"},
        {"token": "7", "logprob": True},
        {"token": "7", "logprob": math.nan},
        {"token": "7", "logprob": 0.5},
        {"token": 7, "logprob": -0.1},
        {"token": None, "bytes": [300], "logprob": -0.1},
        {"token": "7", "logprob": -0.1, "top_logprobs": "7"},
        {"token": "7", "logprob": -0.1, "top_logprobs": {"7": -0.1}},
        {"token": "7", "logprob": -0.1, "top_logprobs": [None]},
        {
            "token": "7",
            "logprob": -0.1,
            "top_logprobs": [{"token": str(n), "logprob": -0.1} for n in range(5)],
        },
    ):
        result = weighted_scores(Reply(text="7", logprobs=[entry]), BARE)
        assert (result.values, result.problem) == ({}, "malformed_logprobs")


def test_impossible_log_probabilities_of_some_endpoints_count_as_none() -> None:
    answer = overall(("7", {"7": 1.0}))
    assert answer.logprobs is not None
    answer.logprobs[1]["top_logprobs"] += [
        {"token": "8", "logprob": -9999.0},
        {"token": "9", "logprob": -math.inf},
        {"token": "6", "logprob": -(10**400)},
    ]
    assert value_of(weighted_scores(answer, BARE)) == pytest.approx(7.0)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([(0, 4), (1, 7), (1, 10), (1, 100)]),
    st.dictionaries(st.integers(0, 120), st.floats(0.01, 1), min_size=1, max_size=12),
    st.randoms(use_true_random=False),
)
def test_one_token_numbers_give_the_textbook_mean(
    ends: tuple[int, int], weights: dict[int, float], random: Any
) -> None:
    low, high = ends
    # Every length of number is seen as one token, so that nothing is unsettled; a sampled
    # beginning is followed by "}" for certain, so that dividing its mass changes nothing.
    weights = {low: 0.5, high: 0.5, min(high, 10): 0.5, **weights}
    total = sum(weights.values())
    chances = {value: weight / total for value, weight in weights.items()}
    on_scale = {value: chance for value, chance in chances.items() if low <= value <= high}
    sampled = random.choice(sorted(on_scale))
    answer = overall((str(sampled), {str(value): chance for value, chance in chances.items()}))
    result = weighted_scores(answer, scale(low, high), min_mass=1e-6, max_unsettled=0)
    mass = sum(on_scale.values())
    expected = sum(value * chance for value, chance in on_scale.items()) / mass
    assert value_of(result) == pytest.approx(expected)
    assert result.mass["overall"] == pytest.approx(mass)
    assert low <= result.values["overall"] <= high


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["token", "logprob", "bytes", "top_logprobs"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)
TOKENS = st.sampled_from(["1", "0", "7", "10", " 7", "7}", "}", ",", "", " ", "é", "x", "\ud800"])


@settings(max_examples=150, deadline=None)
@given(st.lists(JUNK, max_size=4))
def test_arbitrary_log_probabilities_never_raise_nor_become_a_number(junk: list[Any]) -> None:
    result = weighted_scores(Reply(text='{"overall": 7}', logprobs=junk), BARE)
    assert result.values == {}
    assert result.problem is not None


@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 100),
    st.sampled_from([BARE, scale(1, 100), scale(0, 4)]),
    st.lists(st.dictionaries(TOKENS, st.floats(1e-6, 0.15), max_size=6), min_size=6, max_size=6),
    st.booleans(),
)
def test_arbitrary_distributions_give_a_value_on_the_scale_or_a_reason(
    score: int, contract: OutputSchema[ParsedScore], listed: list[dict[str, float]], by_digit: bool
) -> None:
    number = list(str(score)) if by_digit else [str(score)]
    tokens = ['{"overall": ', *number, "}"]
    positions = [
        (token, {**listed[at], token: max(listed[at].get(token, 0.0), 0.1)})
        for at, token in enumerate(tokens)
    ]
    result = weighted_scores(reply(positions), contract, min_mass=0.05, max_unsettled=0.5)
    assert (result.problem is None) == (set(result.values) == {"overall"})
    for value in result.values.values():
        assert contract.low <= value <= contract.high
    assert json.dumps(result.values)


def test_where_nothing_but_the_scale_can_be_written_other_mass_does_not_count() -> None:
    # What the model would rather have written is masked: (0.3*7 + 0.1*8) / 0.4 = 7.25
    answer = overall(("7", {"7": 0.3, "8": 0.1, "high": 0.6}))
    assert weighted_scores(answer, BARE).problem == "mass"
    enforced = weighted_scores(answer, BARE, is_enforced=True)
    assert value_of(enforced) == pytest.approx(7.25)
    assert enforced.mass == {"overall": pytest.approx(0.4)}


def test_a_list_that_may_leave_out_much_of_the_scale_gives_no_mean() -> None:
    # Eight values of 1-10 are not listed. Each may have 0.1, but all of them no more than 0.3.
    answer = overall(("7", {"7": 0.3, "8": 0.1, "high": 0.3}))
    result = weighted_scores(answer, BARE, is_enforced=True)
    assert (result.problem, result.mass) == ("mass", {"overall": pytest.approx(0.4)})
    assert "of the 0.7 that may be with values that were not listed" in str(result.detail)
    # Each may have 0.002, so 0.016 of 0.416: (0.3*7 + 0.1*8) / 0.4
    listed = {"7": 0.3, "8": 0.1, "high": 0.3, "low": 0.002}
    enforced = weighted_scores(overall(("7", listed)), BARE, is_enforced=True)
    assert value_of(enforced) == pytest.approx(7.25)


def test_where_nothing_but_the_scale_can_be_written_a_one_goes_on_as_it_can() -> None:
    # After "1" only "0" and "}" are possible: 0.8 and 0.2 of 0.5. 0.4*10 + 0.1*1 + 0.5*9 = 8.6
    first = ("1", {"1": 0.5, "9": 0.5})
    answer = overall(first, ("0", {"0": 0.4, "}": 0.1, ".": 0.5}))
    assert value_of(weighted_scores(answer, BARE, is_enforced=True)) == pytest.approx(8.6)
    # No 15 either: a digit that leads off the scale is masked as the point is.
    answer = overall(first, ("0", {"0": 0.4, "}": 0.1, "5": 0.3, "5}": 0.2}))
    assert value_of(weighted_scores(answer, BARE, is_enforced=True)) == pytest.approx(8.6)
    # Nor text behind the number.
    answer = overall(first, ("0", {"0": 0.4, "\n": 0.04, " }": 0.06, " (": 0.3, " times": 0.2}))
    assert value_of(weighted_scores(answer, BARE, is_enforced=True)) == pytest.approx(8.6)
    # Half of the 0.002 of the scale is on a 1 that was not sampled.
    unsettled = overall(("9", {"9": 0.001, "1": 0.001, "x": 0.998}))
    assert weighted_scores(unsettled, BARE, is_enforced=True).problem == "two_token_values"
