"""What commands say of calls that failed."""

from __future__ import annotations

from areopagus.cli.results import fault_lines, stopped_by_cap


def test_a_fault_is_followed_by_the_endpoint_s_sentence_and_by_what_to_try_once_a_class() -> None:
    lines = fault_lines(
        [
            {"fault": "server", "said": "model\n is loading", "calls": 30, "hint": "Wait."},
            {"fault": "server", "said": "\x1b[31mout of memory", "calls": 2, "hint": "Wait."},
            {"fault": "timeout", "said": "", "calls": 1, "hint": "Give more time."},
        ]
    )
    assert lines == [
        "30 × failed: server",
        "  model is loading",
        "2 × failed: server",
        "  �[31mout of memory",
        "1 × failed: timeout",
        "To try (server): Wait.",
        "To try (timeout): Give more time.",
    ]


def test_a_long_sentence_is_cut() -> None:
    (_, said) = fault_lines([{"fault": "server", "said": "x" * 1000, "calls": 1}])
    assert len(said) == 302
    assert said.endswith("…")


def test_a_cap_that_pays_for_no_call_is_followed_by_what_one_call_needs() -> None:
    (_, needs) = stopped_by_cap({"call_left_out_usd": 0.16731}).splitlines()
    assert needs == "One call can cost $0.1674 at most, which the cap must cover."
    assert "$2.35 at most" in stopped_by_cap({"call_left_out_usd": 2.3401})
    assert len(stopped_by_cap({"call_left_out_usd": None}).splitlines()) == 1
