"""What was asked of whom, how it ended and what it cost, from run.json."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from .numbers import words

STATES: Final = {
    "complete": "The run is complete: everything planned was taken up.",
    "interrupted": "The run was interrupted by hand: what was not asked is counted as such; the "
    "same command goes on.",
    "budget": "The cost cap stopped the run: what was not asked is counted as such; a higher cap "
    "goes on.",
    "running": "The run was begun and not ended: the process still works, or was killed; the "
    "counts below are those of the tables as they stand.",
}


def state_told(record: Mapping[str, Any]) -> str:
    """How a run or a job ended, as a sentence."""
    state = str(record["state"])
    return STATES.get(state, f"The state of the run is {state!r}.")


@dataclass(frozen=True, slots=True)
class ModelLine:
    """One backend: its name, litellm's name, the endpoint, and how it was asked."""

    name: str
    model: str
    endpoint: str
    requested: str
    effective: str
    structured: str
    score_mode: str


@dataclass(frozen=True, slots=True)
class Paid:
    """US dollars that the sessions of a folder paid, and what is not known of them.

    Attributes:
        here: what they paid themselves.
        possibly: at most this much more, for attempts that broke off.
        unknown_calls: calls of these sessions without a known price.
    """

    here: float
    possibly: float
    unknown_calls: int


@dataclass(frozen=True, slots=True)
class Cost:
    """US dollars and what is not known of them.

    Attributes:
        replies: what the replies in the tables cost when they were paid, where the price is known.
        unknown: judgments whose replies have no known price.
        paid: by the sessions in this folder.
    """

    replies: float
    unknown: int
    paid: Paid


def model_lines(record: Mapping[str, Any]) -> list[ModelLine]:
    """The backends as run.json records them."""
    identity = record["identity"]["models"]
    lines = []
    for model in record["panel"]["models"]:
        known = identity.get(model["name"], {})
        lines.append(
            ModelLine(
                name=model["name"],
                model=str(known.get("model") or model["name"]),
                endpoint=str(known.get("api_base") or "the provider's own"),
                requested=parameters(model["requested"]),
                effective=parameters(model["effective"]),
                structured=str(model["structured"] or "not learned yet"),
                score_mode=str(known.get("score_mode") or "not recorded"),
            )
        )
    return lines


def parameters(stored: Mapping[str, Any] | None) -> str:
    """Parameters as "name value, …"."""
    if not stored:
        return "none"
    return ", ".join(
        f"{name} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in stored.items()
    )


def settings_of(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The settings of the panel as (name, value)."""
    identity, panel, responses = record["identity"], record["panel"], record["responses"]
    low, high = identity["scale"]
    rubric = panel["rubric"]
    return [
        # Only the last part: a report is sent to others, the folders of a machine are not.
        ("source", PurePath(str(record["source"]).replace("\\", "/")).name),
        ("responses", str(responses["n"])),
        ("prompts", str(responses["prompts"])),
        ("respondents", str(responses["respondents"])),
        ("rubric", f"{rubric['label']} ({rubric['id']}), scale {low} to {high}"),
        ("rubric, SHA-256", str(identity["rubric"]["sha256"])),
        ("criteria", ", ".join(words(name) for name in identity["criteria"])),
        ("mode", words(identity["mode"])),
        ("order of the messages", words(identity["order"])),
        ("rationale", words(str(identity["rationale"]))),
        ("anchors shown to judges", "yes" if identity["anchors"] else "no"),
        ("askings of each judge", str(identity["repeats"])),
        ("quorum", f"{panel['quorum']:.4g} of the planned judgments must be scored"),
        *plan_rows(panel.get("plan")),
        ("message template", str(identity["template"])),
        ("versions", ", ".join(f"{name} {value}" for name, value in record["versions"].items())),
    ]


def plan_rows(plan: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """What a calibration's plan, as run.json holds it, set and expected of the panel."""
    if plan is None:
        return []
    reliability = "not known" if plan["e_rho2"] is None else f"{plan['e_rho2']:.2f}"
    source = PurePath(str(plan["source"]).replace("\\", "/")).name
    told = (
        f"by the plan of a calibration ({source}), {plan['wish']}; expected reliability for the "
        f"order of responses to one prompt {reliability}, standard error "
        f"{plan['standard_error']:.2f} points"
    )
    return [("size of the panel", told)]


def personas_by_axis(record: Mapping[str, Any]) -> dict[str, list[dict[str, str]]]:
    """Axis to its personas, each with id, label, version and SHA-256."""
    hashes = record["identity"]["personas"]
    found: dict[str, list[dict[str, str]]] = {}
    for persona in record["panel"]["personas"]:
        found.setdefault(str(persona["axis"]), []).append(
            {
                "id": str(persona["id"]),
                "label": str(persona["label"]),
                "version": str(persona["version"]),
                "sha256": str(hashes.get(persona["id"], "not recorded")),
            }
        )
    return found


def cost_of(record: Mapping[str, Any]) -> Cost:
    """The cost of the run, what is known and what is not, apart."""
    cost = record["cost"]
    return Cost(
        replies=cost["replies_usd"],
        unknown=cost["judgments_with_unknown_price"],
        paid=paid_by(record["sessions"]),
    )


def paid_by(sessions: Sequence[Mapping[str, Any]]) -> Paid:
    """What the sessions of a folder paid."""
    return Paid(
        here=sum(s.get("spent_usd") or 0.0 for s in sessions),
        possibly=sum(s.get("possibly_spent_usd") or 0.0 for s in sessions),
        unknown_calls=sum(s.get("calls_with_unknown_price") or 0 for s in sessions),
    )
