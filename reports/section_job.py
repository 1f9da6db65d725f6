"""Sections of the page of a job of several stages: who was asked how, with what, and the cost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from .asked import paid_by, parameters
from .document import Column, Paragraph, Section, Table
from .numbers import words
from .section_asked import paid_told, sessions_table
from .section_cost import cost_parts

_ROLES: Final = {
    "targets": "target",
    "generators": "generator",
    "rewriters": "rewriter",
    "reviewers": "reviewer",
    "judges": "judge",
}
"""Where run.json's identity names models, and what they do there."""

_NO_SETTINGS: Final = frozenset((*_ROLES, "kind", "panel"))


def job_sections(record: Mapping[str, Any]) -> list[Section]:
    """What a job of several stages cost, and what was asked of whom, as its run.json says.

    Args:
        record: the content of run.json; nothing of it but "identity" must be there.
    """
    return [_cost(record), _asked(record)]


def _cost(record: Mapping[str, Any]) -> Section:
    sessions = record.get("sessions", ())
    told = Paragraph(paid_told(paid_by(sessions)))
    return Section("cost", "Cost", [told, *cost_parts(record), sessions_table(sessions)])


def _asked(record: Mapping[str, Any]) -> Section:
    return Section(
        "asked",
        "What was asked of whom",
        [
            Table(
                caption="Who took which part, with parameters as asked for and as the provider was "
                "sent them.",
                label="Models",
                columns=[
                    Column("name", "id"),
                    Column("as"),
                    Column("model", "id"),
                    Column("endpoint", "id"),
                    Column("requested", "wide"),
                    Column("effective", "wide"),
                ],
                rows=list(_models(record)),
            ),
            Table(
                caption="What makes this job this job, and what it ran with.",
                label="Settings",
                columns=[Column("setting"), Column("value", "wide")],
                rows=list(_settings(record)),
            ),
        ],
    )


def _models(record: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str, str, str]]:
    identity, panel = record["identity"], record.get("panel", {})
    effective = dict(record.get("effective_parameters", {}))
    effective |= {one["name"]: one["effective"] for one in panel.get("models", ())}
    found = [
        (name, role, known)
        for key, role in _ROLES.items()
        for name, known in (identity.get(key) or {}).items()
    ]
    panel_models = identity.get("panel", {}).get("models", {})
    found += [(name, "judge", known) for name, known in panel_models.items()]
    for name, role, known in found:
        yield (
            name,
            role,
            str(known.get("model") or name),
            str(known.get("api_base") or "the provider's own"),
            parameters(known.get("parameters")),
            parameters(effective[name]) if name in effective else "not recorded",
        )


def _settings(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in record["identity"].items():
        if name in _NO_SETTINGS:
            continue
        # One level down at most: settings of an audit's own, a plan, framings with their hashes.
        inner = value if isinstance(value, Mapping) else {"": value}
        for key, one in inner.items():
            yield words(f"{name}, {key}" if key else name), _plain(one)
    panel = record.get("panel", {})
    if panel:
        rubric = panel["rubric"]
        yield "rubric", f"{rubric['label']} ({rubric['id']})"
        yield "personas", ", ".join(str(one["id"]) for one in panel["personas"])
    if "seed" in record:
        yield "seed", str(record["seed"])
    versions = record.get("versions", {})
    yield "versions", ", ".join(f"{name} {version}" for name, version in versions.items())


def _plain(value: Any) -> str:
    if value is None or value == []:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
