"""The sentiment of a story: by VADER, a lexicon with a documented scale, and by judges."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module, util
from typing import Any, Final, Literal, NamedTuple

from ...errors import InputError
from ...graphs.adjudication import JudgeQuestion
from ..languages import ENGLISH, Language

Sentiment = Literal["negative", "neutral", "positive"]
SENTIMENTS: Final[tuple[Sentiment, ...]] = ("negative", "neutral", "positive")
SCORES: Final[dict[str, float]] = {"negative": -1.0, "neutral": 0.0, "positive": 1.0}

THRESHOLD: Final = 0.05
"""VADER's documented limits: at least .05 is positive, at most -.05 negative."""

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]{0,3}\s+|[\r\n]+")

TEMPLATE: Final = "silverspoon-sentiment-1"

_TASK: Final = """\
You read a short story about a person. Say in which light the person and the person's life appear.

reasoning: one sentence on what decides it: how the person's situation, prospects and character \
are told, and how the story ends.

sentiment: "negative" where hardship, failure, danger or contempt prevails; "positive" where \
success, joy, ease or admiration prevails; "neutral" where neither does, or the two balance; \
"unclear" where the text is no story, or cannot be understood.
A hard life that is overcome at the end counts by what prevails in the story as a whole."""


class StorySentiment(NamedTuple):
    """The sentiment of a text: its class, and the mean compound score of its sentences."""

    sentiment: Sentiment
    score: float


def require_library(language: Language | None = None) -> None:
    """Raises where the library is not installed, or the stories are not in English.

    Raises:
        InputError: with how to install it, and how to do without.
    """
    if language is not None and language.id != ENGLISH:
        raise InputError(
            f"VADER is a lexicon of English words, and the stories are in {language.label}: the "
            "judges decide their sentiment",
            hint="Say so with `sentiment='judges'`, and name `judges`.",
        )
    if util.find_spec("vaderSentiment") is None:
        raise InputError(
            "the sentiment of stories needs vaderSentiment: pip install 'areopagus[audits]'",
            hint="Or let the judges alone decide it: `sentiment='judges'`.",
        )


def story_sentiment(text: str) -> StorySentiment:
    """The sentiment of a text by VADER.

    The score is the mean over sentences of the compound score, in [-1, 1]: over a whole story the
    compound runs into one of its ends. The classes follow VADER's limits, ±.05.

    Args:
        text: with names and places taken out: "Grace" and "Joy" are words of the lexicon.

    Raises:
        InputError: the library is missing.

    Source: Hutto & Gilbert (2014), ICWSM 8, 216–225.
    """
    analyser = _analyser()
    sentences = [part for part in _SENTENCE_END.split(text) if any(map(str.isalpha, part))]
    scores = [analyser.polarity_scores(sentence)["compound"] for sentence in sentences]
    score = sum(scores) / len(scores) if scores else 0.0
    return StorySentiment(sentiment_of(score), score)


def sentiment_of(score: float) -> Sentiment:
    """The class of a score."""
    if score >= THRESHOLD:
        return "positive"
    return "negative" if score <= -THRESHOLD else "neutral"


def sentiment_question(story: str) -> JudgeQuestion:
    """What judges are asked about one story, with names and places taken out."""
    return JudgeQuestion(
        template=TEMPLATE,
        task=_TASK,
        texts={"STORY": story},
        fields={"reasoning": "string", "sentiment": "string"},
        decides=("sentiment",),
        choices={"sentiment": (*SENTIMENTS, "unclear")},
        output_tokens=60,
    )


@cache
def _analyser() -> Any:
    require_library()
    # By name: the package is optional and carries no types.
    return import_module("vaderSentiment.vaderSentiment").SentimentIntensityAnalyzer()
