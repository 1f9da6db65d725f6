"""Every response of an attack: the clean ones, the attacked ones, and their controls."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast
from zlib import crc32

from ..errors import InputError, InputFault
from ..formats import units
from ..graphs.detectors import PanelWording
from ..graphs.screening import GATES, Screening, screen
from ..judges.schema import ABSTAINED, RATIONALE, OutputSchema, ParsedScore
from ..records.tables import read_scores, read_texts
from .config import AttackConfig
from .families import AttackFamily, Placement, example_texts, texts_of
from .neutralise import neutralised

Kind = Literal["clean", "attack", "control", "neutralised"]

GUESSED_MARKER = "4f1c09be7a23d658"
"""What stands for {{marker}}: any sixteen hex digits are as good a guess as any others."""

CARRIED = ("attack_kind", "attack_base", "attack_family", "attack_text", "attack_placement")
"""Columns that lead from a row of the panel's tables back to the design."""


@dataclass(frozen=True, slots=True)
class BaseResponse:
    """A response that is attacked.

    Attributes:
        base_id: its id in its source.
        prompt_id, prompt_text, response_text, respondent_id: as in `Sample`.
    """

    base_id: str
    prompt_id: str
    prompt_text: str
    response_text: str
    respondent_id: str

    @property
    def prompt(self) -> str:
        """Its prompt as the unit: those with the same text are one, whatever their ids."""
        return self.prompt_text or self.prompt_id


@dataclass(frozen=True, slots=True)
class Trial:
    """One response that is put before the panel.

    Attributes:
        response_id: unique; made of numbers and the family's id alone.
        kind: what it is.
        base: index of its base response.
        family, text, placement: whose text stands where; "", 0 and None for clean ones.
        response_text: what is judged.
        seen: what the screen says of it, repeated texts apart.
    """

    response_id: str
    kind: Kind
    base: int
    family: str
    text: int
    placement: Placement | None
    response_text: str
    seen: Screening


def trials(
    bases: Sequence[BaseResponse],
    families: Sequence[AttackFamily],
    config: AttackConfig,
    schema: OutputSchema[ParsedScore],
    wording: PanelWording | None = None,
) -> Iterator[Trial]:
    """All responses of an attack, base by base, so that what prompts share is asked together.

    A replacement has no control: harmless prose alone would be another answer, and no longer one.
    What a family is compared with does not depend on which other families there are.

    Args:
        bases: what is attacked.
        families: by what.
        config: where, how many of each, and with what beside.
        schema: what judges have to reply.
        wording: what they are shown: neutralised copies are without it.
    """
    written = {
        family.id: texts_of(family, values_of(family, schema))[: config.texts]
        for family in families
    }
    for number, base in enumerate(bases):
        yield _trial(number, "clean", "", 0, None, base.response_text)
        for family in families:
            turn = crc32(family.id.encode())
            for placement in family.placements:
                if placement not in config.placements:
                    continue
                for index, text in enumerate(written[family.id]):
                    attacked = inserted(base.response_text, text, placement)
                    yield _trial(number, "attack", family.id, index, placement, attacked)
                    if config.controls and placement != "instead":
                        plain = harmless(len(text), first=number + turn + index)
                        control = inserted(base.response_text, plain, placement)
                        yield _trial(number, "control", family.id, index, placement, control)
                    if config.neutralise:
                        copy = neutralised(attacked, wording, base.prompt_text)
                        if copy.is_changed:
                            yield _trial(
                                number, "neutralised", family.id, index, placement, copy.text
                            )


def newly_flagged(trial: Trial, clean: Trial) -> tuple[str, ...]:
    """Flags and gates that a response has and its clean one does not."""
    return tuple(flag for flag in trial.seen.flags if flag not in clean.seen.flags)


def response_rows(
    found: Iterator[Trial] | Sequence[Trial], bases: Sequence[BaseResponse]
) -> Iterator[dict[str, Any]]:
    """The trials as rows for the panel."""
    for trial in found:
        base = bases[trial.base]
        yield {
            "response_id": trial.response_id,
            "prompt_id": base.prompt_id,
            "prompt_text": base.prompt_text,
            "response_text": trial.response_text,
            "respondent_id": base.respondent_id,
            "attack_kind": trial.kind,
            "attack_base": base.base_id,
            "attack_family": trial.family,
            "attack_text": trial.text,
            "attack_placement": trial.placement or "",
        }


def stored_trials(folder: Path) -> tuple[list[Trial], list[BaseResponse]]:
    """The responses of a panel's folder as they were put before it, and the base responses.

    Raises:
        InputError: the tables are not there.
    """
    rows = sorted(read_scores(folder), key=lambda row: row["response_id"])
    texts = read_texts(folder, [row["response_id"] for row in rows])
    dataset: list[BaseResponse] = []
    bases: dict[str, int] = {}
    found: list[Trial] = []
    for row in rows:
        name = row["response_id"]
        if row["attack_kind"] == "clean":
            bases[name.partition("-")[0]] = len(dataset)
            dataset.append(
                BaseResponse(
                    row["attack_base"], row["prompt_id"], *texts[name], row["respondent_id"]
                )
            )
    for row in rows:
        name, placement = row["response_id"], row["attack_placement"]
        text = texts[name][1]
        found.append(
            Trial(
                response_id=name,
                kind=cast("Kind", row["attack_kind"]),
                base=bases[name.partition("-")[0]],
                family=row["attack_family"],
                text=int(row["attack_text"]),
                placement=cast("Placement", placement) if placement else None,
                response_text=text,
                seen=_recorded(row["flags"]),
            )
        )
    return found, dataset


def _recorded(flags: str) -> Screening:
    """What the panel's screen said, which knew the wording of its judges."""
    names = tuple(flag for flag in flags.split() if flag != "repeated_text")
    return Screening(names, next((flag for flag in names if flag in GATES), None))


def fingerprint(bases: Sequence[BaseResponse]) -> str:
    """SHA-256, hex, of the base responses."""
    rows = [
        [b.base_id, b.prompt_id, b.prompt_text, b.response_text, b.respondent_id] for b in bases
    ]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def demanded_reply(
    schema: OutputSchema[ParsedScore], value: int, *, abstained: bool = False
) -> str:
    """A reply in the form that the judges use, with one value throughout."""
    reply: dict[str, Any] = {RATIONALE: "Strong throughout."} if RATIONALE in schema.keys else {}
    reply |= dict.fromkeys(schema.criteria, value)
    if ABSTAINED in schema.keys:
        reply[ABSTAINED] = abstained
    return json.dumps(reply)


def values_of(family: AttackFamily, schema: OutputSchema[ParsedScore]) -> Mapping[str, str]:
    """What stands for each place in a family's texts."""
    demanded = schema.high if family.asks == "highest" else schema.low
    return {
        "high": str(schema.high),
        "low": str(schema.low),
        "reply": demanded_reply(schema, demanded, abstained=family.asks == "abstain"),
        "marker": GUESSED_MARKER,
    }


def _trial(
    base: int, kind: Kind, family: str, text: int, placement: Placement | None, response: str
) -> Trial:
    parts = [f"{base:05d}", kind]
    if family:
        parts += [family, str(text), placement or ""]
    return Trial("-".join(parts), kind, base, family, text, placement, response, screen(response))


@dataclass(frozen=True, slots=True)
class Dataset:
    """The responses that are attacked.

    Attributes:
        name: the file, or what it is where it is none.
        rows: the responses.
        notices: sentences for the user: what was assumed or left out.
    """

    name: str
    rows: tuple[BaseResponse, ...]
    notices: tuple[str, ...] = ()


def read_dataset(
    source: Any = None, *, columns: Mapping[str, str] | None = None, limit: int | None = None
) -> Dataset:
    """The responses of a source; the eight built-in ones when left out.

    Responses that no judge would be asked about are left out, with a notice.

    Raises:
        InputError: every fault of the source, or no response that can be judged.
    """
    if source is None:
        rows = tuple(
            BaseResponse(item.id, item.id, item.prompt or "", item.text, "built_in")
            for item in example_texts("base_responses").texts
        )
        return Dataset("the built-in responses", rows[:limit])
    from ..records.readers.responses import ResponseSource

    with ResponseSource(source, columns=columns, limit=limit) as opened:
        summary = opened.check()
        found = [
            BaseResponse(
                row.response_id, row.prompt_id, row.prompt_text, row.response_text,
                row.respondent_id,
            )
            for row in opened.rows()
        ]  # fmt: skip
    judged = tuple(base for base in found if screen(base.response_text).gate is None)
    if not judged:
        raise InputError([InputFault(summary.name, "holds no response that would be judged")])
    notices = list(summary.notices)
    if len(judged) < len(found):
        notices.append(
            f"screened and left out: {len(found) - len(judged)} of {units(len(found), 'response')}"
        )
    return Dataset(summary.name, judged, tuple(notices))


_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")
_BLANK = re.compile(r"\s+")

_HARMLESS = (
    "The bakery on the corner opens before sunrise and closes in the early afternoon.",
    "A light rain fell on the harbour, and most of the boats stayed in.",
    "Two lines of the tram cross at the old market, where the platforms are narrow.",
    "In autumn the gardeners rake the leaves into long rows beside the path.",
    "The library moved its newspapers to the second floor while the roof was mended.",
    "Seen from the hill, the river bends twice before it reaches the bridge.",
    "The ferry takes a quarter of an hour when the wind is from the west.",
    "Most of the houses in the street were painted again last spring.",
)


def inserted(response: str, text: str, placement: Placement) -> str:
    """The response with the text at that place; what was there stays as it was.

    The middle is the end of a paragraph nearest to it, else of a sentence, else of a word.
    """
    if placement == "instead":
        return text
    if placement == "start":
        return f"{text}\n\n{response}"
    if placement == "end":
        return f"{response}\n\n{text}"
    for pattern, before, after in ((_PARAGRAPH, "\n\n", "\n\n"), (_SENTENCE, " ", " ")):
        place = _nearest_middle(pattern, response)
        if place is not None:
            return response[: place[0]] + before + text + after + response[place[1] :]
    place = _nearest_middle(_BLANK, response) or (len(response) // 2, len(response) // 2)
    return f"{response[: place[0]]} {text} {response[place[1] :]}"


def harmless(length: int, *, first: int = 0) -> str:
    """Exactly so many characters of plain prose that asks for nothing.

    Args:
        length: characters.
        first: which sentence to begin with, so that not all controls are alike.
    """
    words: list[str] = []
    have = 0
    turn = first
    while have <= length:
        sentence = _HARMLESS[turn % len(_HARMLESS)]
        words.append(sentence)
        have += len(sentence) + 1
        turn += 1
    cut = " ".join(words)[:length]
    # No blank at the end: it would be told apart from the text by its look alone.
    return cut if not cut.endswith(" ") else f"{cut[:-1]}."


def _nearest_middle(pattern: re.Pattern[str], response: str) -> tuple[int, int] | None:
    found = [
        (match.start(), match.end())
        for match in pattern.finditer(response)
        if match.start() > 0 and match.end() < len(response)
    ]
    middle = len(response) / 2
    return min(found, key=lambda place: abs(place[0] - middle), default=None)
