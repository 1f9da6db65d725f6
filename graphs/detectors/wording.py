"""The panel's own wording, searched for in responses: what only a judge is shown.

A response that repeats a line of the rubric, of a persona or of the instructions to judges has seen
them, or imitates them. Words that also stand in the prompt prove nothing and do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from .phrases import Found
from .views import WORD, View, folded

if TYPE_CHECKING:
    from ...judges.prompt import JudgePrompt
    from ...personas import Persona

SHORTEST: Final = 8
"""Words in a row that are no chance agreement; see docs/guides/attack.md for what was measured."""

_SEED: Final = 4
"""Every so many words a response is looked up, so that any run of `2 * _SEED - 1` is met."""

_PLACE: Final = re.compile(r"\{[a-z_]+\}")


class PanelWording:
    """An index of the texts that the judges of a panel are shown, made once a panel."""

    def __init__(self, texts: Iterable[tuple[str, str]], keys: Iterable[str] = ()) -> None:
        """Indexes the texts.

        Args:
            texts: what each is (such as `persona historian`), and the text.
            keys: names of the reply that are no words of a language, such as conceptual_clarity.
        """
        self._texts: list[tuple[str, list[str]]] = []
        self._seeds: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        self._keys = tuple(key for key in keys if "_" in key)
        for about, text in texts:
            for piece in _PLACE.split(text):
                self._add(about, WORD.findall(folded(piece)))

    def _add(self, about: str, words: list[str]) -> None:
        if len(words) < SHORTEST:
            return
        number = len(self._texts)
        self._texts.append((about, words))
        for at in range(len(words) - _SEED + 1):
            places = self._seeds.setdefault(tuple(words[at : at + _SEED]), [])
            # Texts that repeat one phrase over and over would cost time and tell nothing more.
            if len(places) < 8:
                places.append((number, at))

    def find(self, view: View, prompt: str = "") -> Iterator[Found]:
        """Where a reading repeats the wording.

        Args:
            view: the reading.
            prompt: what was asked, whose words do not count.
        """
        words, seeds = view.words, self._seeds
        runs: list[tuple[int, int, str]] = []
        for at in range(0, len(words) - _SEED + 1, _SEED):
            places = seeds.get(tuple(words[at : at + _SEED]))
            if places is not None and not (runs and at + _SEED <= runs[-1][1]):
                run = self._longest(words, at, places)
                runs += [run] if run is not None else []
        keys = [key for key in self._keys if key in view.text]
        if not runs and not keys:
            return
        asked = folded(prompt)
        asked_words = f" {' '.join(WORD.findall(asked))} "
        for first, last, about in runs:
            if not self._is_quoted(words[first:last], asked_words):
                start, end = view.word_spans[first][0], view.word_spans[last - 1][1]
                yield Found("panel_wording", start, end, about)
        for key in keys:
            if key not in asked:
                for match in re.finditer(re.escape(key), view.text):
                    yield Found("panel_wording", *match.span(), "a key of the judges' replies")

    def _longest(
        self, words: list[str], at: int, places: list[tuple[int, int]]
    ) -> tuple[int, int, str] | None:
        """The longest run around a seed that a text has too, if it is long enough."""
        best: tuple[int, int, str] | None = None
        for number, place in places:
            about, own = self._texts[number]
            before = 0
            while before < min(at, place) and words[at - before - 1] == own[place - before - 1]:
                before += 1
            after = _SEED
            most = min(len(words) - at, len(own) - place)
            while after < most and words[at + after] == own[place + after]:
                after += 1
            if before + after >= max(SHORTEST, best[1] - best[0] + 1 if best else 0):
                best = at - before, at + after, about
        return best

    @staticmethod
    def _is_quoted(run: list[str], asked: str) -> bool:
        """Whether the prompt holds every part of it that is long enough to count."""
        starts = range(len(run) - SHORTEST + 1)
        return all(f" {' '.join(run[at : at + SHORTEST])} " in asked for at in starts)


def wording_of(judge_prompt: JudgePrompt, personas: Iterable[Persona]) -> PanelWording:
    """The wording of a panel: its template, its rubric as far as it is shown, and its personas."""
    template, rubric = judge_prompt.template, judge_prompt.rubric
    texts: list[tuple[str, str]] = [
        (f"template {template.id}", text) for text in _texts_of(template.model_dump())
    ]
    if judge_prompt.mode != "no_rubric":
        texts.append(("rubric: purpose", rubric.purpose))
        for dimension in rubric.dimensions:
            about = f"rubric: {dimension.id}"
            texts += [(about, dimension.definition), (about, dimension.question)]
            if judge_prompt.anchors:
                texts += [(f"{about}, anchor {s}", t) for s, t in dimension.anchors.items()]
        if judge_prompt.anchors:
            texts += [(f"rubric: anchor {s}", text) for s, text in rubric.anchors.items()]
    texts += [(f"persona {persona.id}", persona.description) for persona in personas]
    return PanelWording(texts, keys=judge_prompt.schema.criteria)


_NOT_SHOWN: Final = frozenset({"id", "label", "version", "provenance"})


def _texts_of(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in _NOT_SHOWN:
                yield from _texts_of(inner)
