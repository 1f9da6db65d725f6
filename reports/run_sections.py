"""Sections that every run's document ends with, from run.json: who was asked, how, at what cost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final

from ..formats import UNDEFINED, count, dollars, known_dollars, listed_all, plain, units, words
from ..judges.models.usage import UsageTotals
from .document import Column, Paragraph, Part, Section, Table

STATES: Final = {
    "complete": "",
    "interrupted": "The run was interrupted by hand: what was not asked is counted as such; the "
    "same command goes on.",
    "budget": "The cost cap stopped the run: what was not asked is counted as such; a higher cap "
    "goes on.",
    "running": "The run was begun and not ended: the process still works, or was killed; the "
    "counts below are those of the tables as they stand.",
}

_ROLES: Final = {
    "targets": "target",
    "generators": "generator",
    "rewriters": "rewriter",
    "reviewers": "reviewer",
    "models": "writer",
    "drafters": "drafter",
    "judges": "judge",
}
"""Where run.json's identity names models, and what they do there."""

_NO_SETTINGS: Final = frozenset((*_ROLES, "kind", "panel"))
_OF_FILES: Final = frozenset(("families", "framings"))
"""Settings by the ids of files, which are no words: tables show them too."""


def state_told(record: Mapping[str, Any]) -> str:
    """How a run or a job ended, as a sentence; "" where all of it was done."""
    state = str(record["state"])
    return STATES.get(state, f"The state of the run is {state!r}.")


def job_sections(record: Mapping[str, Any]) -> list[Section]:
    """What a job of several stages cost, and what was asked of whom, as its run.json says.

    Args:
        record: the content of run.json; nothing of it but "identity" must be there.
    """
    return [
        cost_section(record),
        Section(
            "asked",
            "Who was asked, and how",
            [
                Table(
                    caption="Who took which part, with parameters as asked for and as the provider "
                    "was sent them.",
                    label="Models",
                    columns=[
                        Column("name", "id"),
                        Column("as"),
                        Column("model", "id"),
                        Column("endpoint", "id"),
                        Column("requested", "wide"),
                        Column("effective", "wide"),
                    ],
                    rows=list(_job_models(record)),
                ),
                Table(
                    caption="What makes this job this job, and what it ran with.",
                    label="Settings",
                    columns=[Column("setting"), Column("value", "wide")],
                    rows=list(_job_settings(record)),
                ),
            ],
            "appendix",
        ),
    ]


# What it cost


def cost_section(record: Mapping[str, Any], *before: Part) -> Section:
    """Tokens and dollars by kind, by way and by outcome, what was saved, and every session.

    Args:
        record: the content of run.json; one of an earlier version has only its sessions.
        before: what stands first.
    """
    sessions = record.get("sessions", ())
    return Section(
        "cost",
        "Cost",
        [
            *before,
            Paragraph(f"Paid by the sessions in this folder: {spent_told(sessions)}."),
            *_cost_parts(record),
            _sessions_table(sessions),
        ],
        "appendix",
    )


_KINDS: Final = (
    ("input, uncached", "uncached_input_tokens", "uncached_input_usd"),
    ("input, from a cache", "cached_input_tokens", "cached_input_usd"),
    ("input, written to a cache", "cache_write_tokens", "cache_write_usd"),
    ("output", "output_tokens", "output_usd"),
)
_OUTCOMES: Final = (
    ("ledger", "answered by the ledger, paid before"),
    ("repairs", "repairs: a second ask, as the first reply could not be read"),
    ("refused", "refused: the model declined"),
    ("unreadable", "unreadable, also after the repair"),
    ("failed", "failed: a first reply, and none to its repair"),
)


def _cost_parts(record: Mapping[str, Any]) -> list[Part]:
    cost = record.get("cost") or {}
    if "paid" not in cost:
        return []
    online = UsageTotals.from_json(cost["paid"]["online"])
    batch = UsageTotals.from_json(cost["paid"]["batch"])
    newest = cost["newest_session"]
    outcomes = [
        _replies(label, UsageTotals.from_json(newest[name]))
        for name, label in _OUTCOMES
        if name in newest
    ]
    lost = ("calls without any reply, all sessions; cost at most", cost["calls_without_reply"])
    parts: list[Part] = [Paragraph(" ".join(saved_told(cost["saved"], online, batch)))]
    if online.replies or batch.replies:
        parts.append(_kinds_table(online.plus(batch)))
    parts.append(
        Table(
            caption="Replies by where they came from and what became of them. Paid: over all "
            "sessions. The others: what the newest session worked with, at what the replies cost "
            "when they were paid; a repair may be unreadable too.",
            label="Replies",
            columns=[
                Column("replies"),
                Column("number", "count"),
                Column("input tokens", "count"),
                Column("output tokens", "count"),
                Column("cost"),
                Column("price unknown", "count"),
            ],
            rows=[
                _replies("paid, asked online", online),
                _replies("paid, asked in batches", batch),
                *outcomes,
                (
                    *lost,
                    None,
                    None,
                    UNDEFINED if not lost[1] else dollars(cost["possibly_spent_usd"]),
                    None,
                ),
            ],
        )
    )
    return parts


def _kinds_table(paid: UsageTotals) -> Table:
    rows: list[tuple[Any, ...]] = []
    for label, tokens, usd in _KINDS:
        number, amount = getattr(paid, tokens), getattr(paid, usd)
        # Where no cost was taken apart, a part of nothing is not known either.
        is_known = amount or not number or not paid.replies_not_taken_apart
        is_known = is_known and not (number and paid.replies_with_unknown_price == paid.replies)
        rows.append((label, number, dollars(amount if is_known else None) if number else UNDEFINED))
    if paid.replies_not_taken_apart:
        label = f"not taken apart, {count(paid.replies_not_taken_apart)} replies"
        rows.append((label, None, dollars(paid.not_taken_apart_usd)))
    return Table(
        caption="What the sessions in this folder paid for, by kind.",
        label="Tokens paid",
        columns=[Column("kind"), Column("tokens", "count"), Column("cost")],
        rows=rows,
        foot=[("together", paid.input_tokens + paid.output_tokens, _cost_told(paid))],
        is_short=True,
    )


def _replies(label: str, sums: UsageTotals) -> tuple[Any, ...]:
    return (
        label,
        sums.replies,
        sums.input_tokens,
        sums.output_tokens,
        _cost_told(sums),
        sums.replies_with_unknown_price,
    )


def _cost_told(sums: UsageTotals) -> str:
    return (
        known_dollars(sums.cost_usd, sums.replies_with_unknown_price) if sums.replies else UNDEFINED
    )


def saved_told(saved: Mapping[str, Any], online: UsageTotals, batch: UsageTotals) -> Iterator[str]:
    """What caches and batches saved on what was paid, a sentence each."""
    if not (online.replies or batch.replies):
        yield "Nothing was paid in this folder."
        return
    yield _gain("Prefix caches", saved["cache_usd"], saved["cache_reason"])
    if batch.replies:
        yield _gain("Batches", saved["batch_usd"], saved["batch_reason"])
    if saved["full_price_usd"] is not None:
        yield f"Without them the same tokens would have cost {dollars(saved['full_price_usd'])}."


def _gain(name: str, amount: float | None, reason: str | None) -> str:
    if amount is None:
        return f"What {name[0].lower()}{name[1:]} saved is not known: {reason}."
    if amount < 0:
        told = f"{name} saved nothing: writing to them cost {dollars(-amount)} more"
    else:
        told = f"{name} saved {dollars(amount)}"
    return f"{told} ({reason})." if reason else f"{told}."


def spent_told(sessions: Sequence[Mapping[str, Any]], parts: str = "") -> str:
    """What sessions of run.json paid themselves, in dollars, and what is not known of it.

    Args:
        sessions: one of a command, or all of a folder.
        parts: what stands behind the sum, of what it was paid for.
    """
    spent = sum(one.get("spent_usd") or 0.0 for one in sessions)
    possibly = sum(one.get("possibly_spent_usd") or 0.0 for one in sessions)
    unknown = sum(one.get("calls_with_unknown_price") or 0 for one in sessions)
    told = known_dollars(spent, unknown) + parts
    if possibly:
        told += f", and at most {dollars(possibly)} for attempts that broke off"
    if unknown:
        told += f"; {units(unknown, 'call')} {'has' if unknown == 1 else 'have'} no known price"
    return told


def _sessions_table(sessions: Sequence[Mapping[str, Any]]) -> Table:
    return Table(
        caption="Sessions: each time the command ran in this folder.",
        label="Sessions",
        columns=[
            Column("started", "time"),
            Column("calls sent", "count"),
            Column("in batches", "count"),
            Column("from the ledger", "count"),
            Column("failed calls", "count"),
            Column("paid"),
            Column("cost cap"),
            Column("state"),
            Column("ended", "time"),
        ],
        rows=[_session(session) for session in sessions],
    )


def _session(session: Mapping[str, Any]) -> list[Any]:
    calls = session.get("calls") or {}
    cap = session.get("max_cost_usd")
    return [
        str(session.get("started")),
        calls.get("sent"),
        calls.get("in_batches", 0),
        calls.get("from_ledger"),
        calls.get("failed"),
        known_dollars(session.get("spent_usd"), session.get("calls_with_unknown_price") or 0),
        "none" if cap is None else dollars(cap),
        str(session.get("state") or ""),
        str(session.get("ended") or "not ended"),
    ]


# Who was asked


def panel_asked(record: Mapping[str, Any]) -> Section:
    """Models, personas and settings of a panel's run."""
    identity = record["identity"]
    if identity.get("imported"):
        sentence = (
            f"The judgments were imported from {record['source']}. Models: "
            f"{listed_all(list(identity['models']))}. Personas: "
            f"{listed_all(list(identity['personas']))}. How they were asked is not known, and they "
            "cannot be asked again."
        )
        return Section("asked", "Who judged", [Paragraph(sentence)])
    models = [
        (
            model["name"],
            str(identity["models"].get(model["name"], {}).get("model") or model["name"]),
            endpoint_of(identity["models"].get(model["name"], {})),
            parameters(model["requested"]),
            parameters(model["effective"]),
            str(model["structured"] or "not learned yet"),
            str(identity["models"].get(model["name"], {}).get("score_mode") or "not recorded"),
        )
        for model in record["panel"]["models"]
    ]
    hashes = identity["personas"]
    personas = [
        (
            str(one["id"]),
            str(one["axis"]),
            str(one["label"]),
            str(one["version"]),
            str(hashes.get(one["id"], "not recorded")),
        )
        for one in sorted(record["panel"]["personas"], key=lambda one: str(one["axis"]))
    ]
    return Section(
        "asked",
        "Who was asked, and how",
        [
            *_answers_parts(record),
            Paragraph("Models", "heading"),
            Table(
                caption="Parameters as asked for, and as the provider was sent them. Structured "
                "output: the form in which the reply's structure was asked for.",
                label="Models",
                columns=[
                    Column("name", "id"),
                    Column("model", "id"),
                    Column("endpoint", "id"),
                    Column("requested", "wide"),
                    Column("effective", "wide"),
                    Column("structured output"),
                    Column("scores"),
                ],
                rows=models,
            ),
            Paragraph("Personas", "heading"),
            Table(
                caption="The perspectives that judged, by axis.",
                label="Personas",
                columns=[
                    Column("persona"),
                    Column("axis", "id"),
                    Column("label"),
                    Column("version"),
                    Column("SHA-256", "wide"),
                ],
                rows=personas,
            ),
            Paragraph("Settings", "heading"),
            Table(
                caption="What makes this run this run.",
                label="Settings",
                columns=[Column("setting"), Column("value", "wide")],
                rows=panel_settings(record),
            ),
        ],
        "appendix",
    )


def panel_settings(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The settings of a panel's run as (name, value)."""
    identity, panel, responses = record["identity"], record["panel"], record["responses"]
    low, high = identity["scale"]
    rubric = panel["rubric"]
    return [
        ("source", _file_name(record["source"])),
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
        *([("words of responses marked", "yes")] if identity.get("datamark") else []),
        *_asked_rows(identity),
        ("askings of each judge", str(identity["repeats"])),
        ("quorum", f"{panel['quorum']:.4g} of the planned judgments must be scored"),
        *_plan_rows(panel.get("plan")),
        ("message template", plain(identity["template"])),
        ("versions", _versions(record)),
    ]


def _asked_rows(identity: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How criteria were asked for, where that was not the usual way."""
    found = []
    if turn := identity.get("criterion_order"):
        found.append(("criteria rotated by", units(turn, "place")))
    if identity.get("criterion_calls") == "apart":
        found.append(("calls", "one for each criterion"))
    return found


def _plan_rows(plan: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """What a calibration's plan, as run.json holds it, set and expected of the panel."""
    if plan is None:
        return []
    reliability = "not known" if plan["e_rho2"] is None else f"{plan['e_rho2']:.2f}"
    told = (
        f"by the plan of a calibration ({_file_name(plan['source'])}), {plan['wish']}; expected "
        f"reliability for the order of responses to one prompt {reliability}, standard error "
        f"{plan['standard_error']:.2f} points"
    )
    return [("size of the panel", told)]


_ANSWERS: Final = (
    ("answered", "answered"),
    ("empty", "came empty"),
    ("refused", "refused, by the endpoint's own mark"),
    ("failed", "failed: no reply came"),
    ("not_asked", "not asked"),
)


def _answers_parts(record: Mapping[str, Any]) -> list[Part]:
    """Targets and their answers; nothing for a run on responses that were given."""
    answers = record.get("answers")
    if not answers:
        return []
    counts, sent = answers["counts"], answers["effective_parameters"]
    n_words, repeats = answers["asked"]["words"], answers["asked"]["repeats"]
    length = "" if n_words is None else f", with the request to write about {n_words} words"
    cut = f" Cut off at the token limit: {counts['cut_off']}." if counts["cut_off"] else ""
    faults = ", ".join(f"{number} {name}" for name, number in answers["faults"].items())
    failed = f" Failed: {faults}." if faults else ""
    return [
        Paragraph("Answers", "heading"),
        Paragraph(
            f"The responses are answers of these models to the prompts of "
            f"{_file_name(answers['prompts'])}, asked as a bare user turn{length}; "
            f"{units(repeats, 'answer')} of each model to each prompt. They stand in "
            f"{answers['file']}. One that did not come has no text and is screened.{failed}{cut}"
        ),
        Table(
            caption="Models that answered, with the parameters that the provider was sent.",
            label="Targets",
            columns=[
                Column("name", "id"),
                Column("model", "id"),
                Column("endpoint", "id"),
                Column("effective", "wide"),
            ],
            rows=[
                (name, target["model"], endpoint_of(target), parameters(sent.get(name)))
                for name, target in record["identity"]["targets"].items()
            ],
        ),
        Table(
            caption="What became of every planned answer.",
            label="Answers",
            columns=[Column("status"), Column("answers", "count")],
            rows=[(label, counts[name]) for name, label in _ANSWERS],
            foot=[("planned", counts["planned"])],
            is_short=True,
        ),
    ]


def _job_models(record: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str, str, str]]:
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
        sent = parameters(effective[name]) if name in effective else "not recorded"
        model = str(known.get("model") or name)
        yield name, role, model, endpoint_of(known), parameters(known.get("parameters")), sent


def _job_settings(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in record["identity"].items():
        if name in _NO_SETTINGS:
            continue
        # One level down at most: settings of an audit's own, a plan, framings with their hashes.
        inner = value if isinstance(value, Mapping) else {"": value}
        for key, one in inner.items():
            called = key if name in _OF_FILES else words(key)
            yield f"{words(name)}, {called}" if key else words(name), plain(one)
    panel = record.get("panel", {})
    if panel:
        rubric = panel["rubric"]
        yield "rubric", f"{rubric['label']} ({rubric['id']})"
        yield "personas", ", ".join(str(one["id"]) for one in panel["personas"])
    if "seed" in record:
        yield "seed", str(record["seed"])
    yield "versions", _versions(record)


def parameters(stored: Mapping[str, Any] | None) -> str:
    """Parameters as "name value, …"."""
    if not stored:
        return "none"
    return ", ".join(
        f"{name} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in stored.items()
    )


def endpoint_of(known: Mapping[str, Any]) -> str:
    """Where a model was asked."""
    return str(known.get("api_base") or "the provider's own")


def _file_name(path: Any) -> str:
    """The last part: a report is sent to others, the folders of a machine are not."""
    return PurePath(str(path).replace("\\", "/")).name


def _versions(record: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in record.get("versions", {}).items())
