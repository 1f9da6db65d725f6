"""The errors of Areopagus, split by who can act.

AreopagusError
├── InputError      what was handed in is wrong: fix it and start again     (exit code 2)
├── ProviderError   an endpoint did not serve the call: retry, wait, or see to the account
└── StoreError      a file, folder or ledger could not be read or written   (exit code 2)

A reply that came but cannot be used is never raised: it is recorded, as a typed vote.

Messages name arguments as Python calls them, between backquotes: `max_cost`, or with a value
`template='my_wording'`. The command line puts its options in their place (`cli.display`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

FaultClass = Literal[
    "authentication",
    "permission",
    "not_found",
    "quota",
    "context_length",
    "content_policy",
    "unsupported_parameter",
    "bad_request",
    "rate_limit",
    "timeout",
    "connection",
    "server",
    "bad_reply",
    "internal",
]
"""Why a call brought no reply. `bad_reply`: something came that is no answer in the provider's
form. `internal` is a defect on this side."""

FAULT_CLASSES: tuple[str, ...] = get_args(FaultClass)

FAULT_HINTS: dict[FaultClass, str] = {
    "authentication": "check the key: the variable it is read from, and what the provider shows",
    "permission": "the key may not use this model, or a filter refused the text; ask the provider",
    "not_found": "check the model's name and the address (api_base)",
    "quota": "the account has no credit or quota left; see to it, then run the command again",
    "context_length": "the text is too long for this model; leave it out or name another model",
    "content_policy": "the provider's filter refused the text; another backend may take it",
    "unsupported_parameter": "take the parameter out of the model's settings",
    "bad_request": "the endpoint does not take the request; check the model's settings",
    "rate_limit": "wait and run the command again, or lower concurrency, rpm or tpm in the model's "
    "settings",
    "timeout": "run the command again, or raise timeout_s in the model's settings",
    "connection": "check that the server runs and can be reached, then run the command again",
    "server": "run the command again later; where it stays, see the server's log",
    "bad_reply": "what stands at this address answers in another form; check model and api_base",
    "internal": "this is a defect here; please report it",
}
"""What to try, for each class of fault."""

SHOWN_FAULTS = 50
"""How many input faults one message spells out; the rest are counted."""

SAME_FAULTS = 3
PLACES_SHOWN = 6


class AreopagusError(Exception):
    """Base of every error raised on purpose by this package."""


@dataclass(frozen=True, slots=True)
class InputFault:
    """One thing wrong with the input: where it stands, which field, what is allowed instead.

    A field that stands nowhere is an argument of the call.
    """

    where: str
    message: str
    field: str | None = None

    def __str__(self) -> str:
        place = self.where
        if self.field:
            place = f"{place}: {self.field}" if place else f"`{self.field}`"
        return f"{place}: {self.message}" if place else self.message


def fault_lines(faults: Sequence[InputFault]) -> list[str]:
    """Returns a line a fault; more than `SAME_FAULTS` that say the same are one, with a count."""
    places: dict[tuple[str, str | None], list[str]] = {}
    for fault in faults:
        places.setdefault((fault.message, fault.field), []).append(fault.where)
    lines: list[str] = []
    for fault in faults:
        same = places[fault.message, fault.field]
        if 0 < len(same) <= SAME_FAULTS:
            lines.append(str(fault))
        elif same:
            file = f"{fault.where.rpartition(':')[0]}:"
            in_lines = all(
                place.startswith(file) and place[len(file) :].isdigit() for place in same
            )
            first = ", ".join(
                place[len(file) :] if in_lines else place for place in same[:PLACES_SHOWN]
            )
            more = ", …" if len(same) > PLACES_SHOWN else ""
            what = "lines" if in_lines else "places"
            lines.append(f"{fault} (in {len(same):,} {what}: {first}{more})")
            same.clear()
    return lines


class InputError(AreopagusError):
    """Bad input, with every fault found; raised before anything is spent.

    Args:
        faults: the faults, or plain sentences for faults without a place.
        hint: how to fix them, shown last. Its line feeds are ours: names and texts of anybody
            else's go into it by `visible_text`.
    """

    def __init__(
        self, faults: Iterable[InputFault | str] | str, *, hint: str | None = None
    ) -> None:
        given = [faults] if isinstance(faults, str) else list(faults)
        self.faults: tuple[InputFault, ...] = tuple(
            fault if isinstance(fault, InputFault) else InputFault(where="", message=fault)
            for fault in given
        )
        self.hint = hint
        super().__init__(self._text())

    def _text(self) -> str:
        # A line each, whatever is quoted: a column's name must not write lines of its own.
        lines = [visible_text(line) for line in fault_lines(self.faults)]
        if left := len(lines[SHOWN_FAULTS:]):
            lines[SHOWN_FAULTS:] = [f"… and {left} more faults of this kind"]
        if self.hint:
            lines.append(visible_text(self.hint, keep="\n"))
        return "\n".join(lines)


class StoreError(AreopagusError):
    """A file, folder or ledger could not be read or written; says which, and what to do."""


class ProviderError(AreopagusError):
    """A call brought no reply.

    Args:
        fault: the class of fault.
        detail: what the endpoint said, redacted of keys.
        status: HTTP status where there was one.
        retry_after_s: seconds the endpoint asked us to wait, where it did.
        may_be_billed: whether the endpoint may have done the work all the same.

    Attributes:
        attempts: HTTP attempts that were made for the call, once it is given up.
    """

    def __init__(
        self,
        fault: FaultClass,
        detail: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        may_be_billed: bool = False,
    ) -> None:
        super().__init__(f"{fault}: {detail}")
        self.fault: FaultClass = fault
        self.detail = detail
        self.status = status
        self.retry_after_s = retry_after_s
        self.may_be_billed = may_be_billed
        self.attempts = 0


def visible_text(text: str, *, keep: str = "") -> str:
    """The text with `�` for every character that acts instead of being seen.

    Those are controls and escapes, what turns the reading direction, line and paragraph
    separators, surrogates and what Unicode has not assigned. White space of any width stays: it
    belongs to French and Japanese as letters do.

    Args:
        text: anybody's text.
        keep: characters that stay all the same, such as a line feed.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in keep or unicodedata.category(c) == "Zs" else "�" for c in text
    )
