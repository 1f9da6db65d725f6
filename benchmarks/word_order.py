"""How often the embedded judge prefers a text to its own words in another order.

    python benchmarks/word_order.py RESPONSES [--seeds 5]

RESPONSES is a CSV file (.gz too) with `prompt_text` and `response_text`. A text is preferred where
the mean over personas and dimensions is strictly higher; ties count against it.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Callable
from pathlib import Path

from areopagus.judges.offline.features import measure
from areopagus.judges.offline.lexical import score
from areopagus.personas import load_personas
from areopagus.records.readers.responses import ResponseSource
from areopagus.rubrics import load_rubric

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def refilled(pattern: str, text: str, rng: random.Random) -> str:
    """The text with what the pattern finds put back in another order; all else stays."""
    pieces = re.findall(pattern, text)
    rng.shuffle(pieces)
    rest = iter(pieces)
    return re.sub(pattern, lambda _: next(rest), text)


def one_line(text: str, rng: random.Random) -> str:
    words = text.split()
    return " ".join(rng.sample(words, len(words)))


def under_marks(text: str, rng: random.Random) -> str:
    words = _WORD.findall(text)
    rest = iter(rng.sample(words, len(words)))

    def moved(place: re.Match[str]) -> str:
        word = next(rest)
        return (word[0].upper() if place[0][0].isupper() else word[0].lower()) + word[1:]

    return _WORD.sub(moved, text)


SHUFFLES: dict[str, Callable[[str, random.Random], str]] = {
    "words, on one line": one_line,
    "words, lines stay": lambda text, rng: refilled(r"\S+", text, rng),
    "words, marks and capitals stay": under_marks,
    "runs of three words": lambda text, rng: refilled(r"\S+(?:\s+\S+){0,2}", text, rng),
    "sentences": lambda text, rng: refilled(r"[^\s.!?:][^.!?:\n]*[.!?:]*", text, rng),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("responses", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    rubric, personas = load_rubric(), load_personas(None)
    dimensions = [(one.id, one.offline) for one in rubric.dimensions]

    def composite(prompt: str, response: str) -> float:
        found = measure(prompt, response)
        scores = [
            score(found, dimensions=dimensions, low=rubric.scale.low, high=rubric.scale.high,
                  lexicon=persona.lexicon or {}).scores
            for persona in personas
        ]  # fmt: skip
        return sum(sum(each.values()) for each in scores) / (len(scores) * len(dimensions))

    with ResponseSource(given.responses) as source:
        source.check()
        texts = [(row.prompt_text, row.response_text) for row in source.rows()]
    print(f"{len(texts)} texts")
    print(f"{'shuffled':32}{'pairs':>7}{'higher':>8}{'tied':>7}{'lower':>7}{'mean':>7}{'was':>6}")
    real = [composite(*text) for text in texts]
    for name, shuffle in SHUFFLES.items():
        others = [
            (own, composite(prompt, shuffle(response, random.Random(f"{seed} {place}"))))
            for seed in range(given.seeds)
            for place, ((prompt, response), own) in enumerate(zip(texts, real, strict=True))
        ]
        n = len(others)
        higher = sum(own > other for own, other in others) / n
        tied = sum(own == other for own, other in others) / n
        mean, was = sum(other for _, other in others) / n, sum(real) / len(real)
        print(
            f"{name:32}{n:7}{higher:8.1%}{tied:7.1%}{1 - higher - tied:7.1%}{mean:7.2f}{was:6.2f}"
        )


if __name__ == "__main__":
    main()
