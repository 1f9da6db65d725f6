"""What a stopping rule did, in sentences, from run.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def precision_of(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What run.json says of a rule; None where the run had none."""
    found = record.get("panel", {}).get("precision")
    return found if isinstance(found, Mapping) else None


def precision_sentences(found: Mapping[str, Any]) -> list[str]:
    """Sentences for a person: what was spared, what is known, what it costs in reliability.

    Args:
        found: `panel.precision` of run.json.
    """
    asked, spared, cut_off = found["asked"], found["not_asked"], found.get("cut_off", 0)
    saved = found["saved"]
    responses = found["responses"]
    sentences = [f"{asked:,} of {asked + spared + cut_off:,} judgments were asked for."]
    if spared:
        sentences[0] += f" {_why_spared(found)}, which saved as many calls{_dollars(saved)}."
    if found["half_width"] is not None:
        sentences.append(
            f"Wanted: the whole panel's mean to within {found['half_width']:g} points. Reached on "
            f"{responses['precise']:,} responses; on {responses['everyone']:,} the whole panel was "
            f"asked, on {responses['allowance']:,} as many as were allowed."
        )
        sentences.append(
            "The interval holds the whole panel's mean for at least "
            f"{found['stated_coverage']:.0%} of responses (simulated). It says nothing of how near "
            "the panel is to people."
        )
    else:
        sentences.append(
            f"At most {found['judges_per_response']} judgments a response were allowed, drawn at "
            f"random and balanced.{_mean_half_width(found)}"
        )
    sentences.append(_reliability(found["reliability"]))
    cut_short = responses["cut_short"]
    if cut_short:
        sentences.append(
            f"On {cut_short:,} responses the run ended before the rule did; "
            f"{cut_off:,} of their judgments were not asked for."
        )
    return sentences


def spared_word(found: Mapping[str, Any]) -> str:
    """What judgments that were left out are called: a limit does not ask whether they are needed.

    Args:
        found: `panel.precision` of run.json.
    """
    return "not allowed" if found["half_width"] is None else "not needed"


def _why_spared(found: Mapping[str, Any]) -> str:
    spared, most = found["not_asked"], found["judges_per_response"]
    asked = "was not asked" if spared == 1 else "were not asked"
    limit = f"at most {most} a response were allowed"
    if found["half_width"] is None:
        return f"{spared:,} {asked}: {limit}"
    if most is not None:
        return f"{spared:,} {asked}: the rule had enough, or {limit}"
    return f"The rule did not want {spared:,}"


def _dollars(saved: Mapping[str, Any]) -> str:
    usd, unknown = saved["usd"], saved["calls_with_unknown_price"]
    if usd is None:
        return " at an unknown price"
    told = f" and about ${usd:,.2f}" if usd >= 1 else f" and about ${usd:.4f}" if usd else ""
    return told + (f"; {unknown:,} of them have no known price" if unknown else "")


def _mean_half_width(found: Mapping[str, Any]) -> str:
    width = found["mean_half_width"]
    return (
        ""
        if width is None
        else f" On average the whole panel's mean is known to within {width:.2f} points."
    )


def _reliability(found: Mapping[str, Any]) -> str:
    if found["full"] is None or found["stopped"] is None:
        return f"What that costs in reliability cannot be told: {found['reason']}."
    where = "wherever they stand" if found["is_across"] else "to one prompt"
    told = (
        f"Reliability for the order of responses {where}: {found['stopped']:.2f} instead of "
        f"{found['full']:.2f} with the whole panel (D-study on {found['n_responses']:,} responses)"
    )
    if found["worth"] is None:
        return f"{told}."
    return f"{told}, as with {found['worth']:.1f} of its judgments for all (Spearman-Brown)."
