"""What commands say of calls that failed."""

from __future__ import annotations

from areopagus.cli.results import cost_line, fault_lines
from areopagus.formats import known_dollars
from areopagus.judges.models.usage import RunUsage, UsageTotals


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


def test_what_has_no_known_price_never_costs_nothing() -> None:
    stored = UsageTotals(replies=4, replies_with_unknown_price=4)
    session = {"spent_usd": 0.0, "possibly_spent_usd": 0.0, "calls_with_unknown_price": 0}
    again = session | {"calls": {"sent": 0, "from_ledger": 4}}
    again["replies"] = RunUsage(ledger=stored).to_json()
    assert cost_line(again) == "0 calls sent, 4 from the ledger · nothing paid now"
    first = session | {"calls": {"sent": 4}, "calls_with_unknown_price": 4}
    first["replies"] = RunUsage(online=stored).to_json()
    assert cost_line(first) == "4 calls sent · unknown; 4 calls have no known price"
    assert (known_dollars(0.0, 4), known_dollars(0.5, 4), known_dollars(0.0, 0)) == (
        "unknown", "$0.5000", "$0",
    )  # fmt: skip
