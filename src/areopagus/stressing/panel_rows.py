"""The responses of a stress test as the panel takes them, and which are put before it twice."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .plan import StressPlan
from .source import StressResponse

CARRIED = ("stress_prompt_id", "condition", "target", "stress_repeat")
"""Columns that lead from a row of the panel's tables back to the design."""

NO_RESPONSE = ("failed", "not_asked")
"""Statuses of our own table without anything that could be judged."""


def panel_rows(
    responses: Iterable[StressResponse],
    plan: StressPlan,
    baseline_prompts: Mapping[str, str],
    *,
    only: frozenset[str] | None = None,
) -> Iterator[dict[str, Any]]:
    """Rows for the panel.

    A variant is a prompt of its own to the panel, unless its text is the baseline's.

    Args:
        responses: all of them.
        plan: whose `judged_prompt` decides which prompt the judges read.
        baseline_prompts: prompt id to the text of its baseline; a prompt without one is judged
            against the prompt that its response answered.
        only: ids of the responses wanted; all when left out.
    """
    for response in responses:
        if response.extra.get("status") in NO_RESPONSE:
            continue
        if only is not None and response.response_id not in only:
            continue
        baseline = baseline_prompts.get(response.prompt_id)
        text = response.prompt_text
        if plan.judged_prompt == "baseline" and baseline is not None:
            text = baseline
        is_baseline = text == baseline
        yield {
            "response_id": response.response_id,
            "prompt_id": response.prompt_id
            if is_baseline
            else f"{response.prompt_id}|{response.condition}",
            "prompt_text": text,
            "response_text": response.response_text,
            "respondent_id": f"{response.target} @ {response.condition}",
            "stress_prompt_id": response.prompt_id,
            "condition": response.condition,
            "target": response.target,
            "stress_repeat": repeat_of(response),
        }


def repeat_of(response: StressResponse) -> int:
    """Which asking of its prompt a response came from, from 0; 0 where nothing is said of it.

    Raises:
        ValueError: the column `repeat` holds something else than a whole number from 0.
    """
    value = response.extra.get("repeat")
    if value is None or not str(value).strip():
        return 0
    try:
        number = float(str(value))
    except ValueError:
        number = -1.0
    if not (number >= 0 and number.is_integer()):
        raise ValueError(f"must be a whole number from 0, got {str(value)[:80]!r}")
    return int(number)


def chosen(
    names: Iterable[str], share: float, seed: int, purpose: str, *, at_least: int = 0
) -> frozenset[str]:
    """At least this share of the names, by seed: the same whatever their order.

    Each name is ranked by a hash of itself, so that adding names moves few of the others.

    Args:
        names: what to choose from.
        share: from 0 to 1; 0 chooses nothing.
        seed, purpose: two purposes choose differently by one seed.
        at_least: how many to take where the share comes to fewer.
    """
    if not share:
        return frozenset()
    ranked = sorted(
        set(names),
        key=lambda name: hashlib.sha256(f"{purpose}\x1f{seed}\x1f{name}".encode()).digest(),
    )
    wanted = -(-len(ranked) * round(share * 1_000_000) // 1_000_000)
    return frozenset(ranked[: max(wanted, at_least)])
