"""A text is preferred to its own words in another order, and what writers may do is no disorder."""

from __future__ import annotations

import csv
import gzip
import random
import re
from collections.abc import Callable
from pathlib import Path
from statistics import mean

import pytest
import yaml

from areopagus.judges.offline.lexical import FAMILIES, measure, score
from areopagus.judges.offline.word_order import places

ROOT = Path(__file__).parents[3]
DIMENSIONS = [(family, family) for family in FAMILIES]
LEXICONS = [
    yaml.safe_load(file.read_text(encoding="utf-8"))["lexicon"]
    for file in sorted((ROOT / "personas").glob("*.yaml"))
]
with (ROOT / "examples" / "responses.csv").open(encoding="utf-8", newline="") as _file:
    EXAMPLES = {row["response_id"]: row for row in csv.DictReader(_file)}
ARGUED = [f"{prompt}-{place}" for prompt in ("merit", "hiring", "monument", "civility")
          for place in (1, 2)]  # fmt: skip

_WORDS = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def composite(prompt: str, response: str) -> float:
    """Mean score over personas and families, as a panel of the embedded judge gives it."""
    features = measure(prompt, response)
    return mean(
        mean(score(features, dimensions=DIMENSIONS, low=1, high=10, lexicon=one).scores.values())
        for one in LEXICONS
    )


def on_one_line(text: str, rng: random.Random) -> str:
    words = text.split()
    rng.shuffle(words)
    return " ".join(words)


def in_the_same_lines(text: str, rng: random.Random) -> str:
    words = text.split()
    rng.shuffle(words)
    rest = iter(words)
    return re.sub(r"\S+", lambda _: next(rest), text)


def under_the_same_marks(text: str, rng: random.Random) -> str:
    """Words move; punctuation, lines and the places of capitals stay."""
    words = _WORDS.findall(text)
    rng.shuffle(words)
    rest = iter(words)

    def moved(place: re.Match[str]) -> str:
        word = next(rest)
        return word.capitalize() if place[0][0].isupper() else word[0].lower() + word[1:]

    return _WORDS.sub(moved, text)


Shuffle = Callable[[str, random.Random], str]
SHUFFLES: list[Shuffle] = [on_one_line, in_the_same_lines, under_the_same_marks]
# Twelve texts of this project: eight answers of the examples, and four on other subjects.
OWN = {
    **{name: (EXAMPLES[name]["prompt_text"], EXAMPLES[name]["response_text"]) for name in ARGUED},
    "civility-4": (EXAMPLES["civility-4"]["prompt_text"], EXAMPLES["civility-4"]["response_text"]),
    "list": (
        "Should a library charge fines for late books?",
        (
            "A library can answer in three ways, and each has its price.\n\n"
            "1. It keeps the fines. Readers who forget a book pay for the harm to those who "
            "wait.\n"
            "2. It drops the fines. Some studies (2019) report that more books came back, because "
            "nobody had to avoid the desk; however, the libraries were few.\n"
            "3. It asks for help instead of money. That suits the young, but not a nurse on "
            "shifts.\n\n"
            "I think the second is fair if the library can afford it, since a fine weighs more on "
            "the poor than on the rich."
        ),
    ),
    "plain": (
        "Is it fair that parents choose a school?",
        (
            "my sister chose a school for her son and it took her a year. she had the time and i "
            "did not. so the choice was hers because she could read the forms, and the parents "
            "who could not had no choice at all. maybe it is still better than a school that "
            "nobody chose. but if you want it to be fair, then give the parents who work at night "
            "the same help."
        ),
    ),
    "voting": (
        "Should voting be compulsory?",
        (
            "Those who defend compulsory voting say that turnout is a duty of citizens, and that "
            "those who stay at home are more often poor. Critics reply that a forced vote may "
            "express nothing. Both points matter; the first only if parties answer to people who "
            "vote, which is unclear. Therefore a small fine, with an excuse for whoever asks, "
            "might be enough."
        ),
    ),
}


@pytest.mark.parametrize("shuffle", SHUFFLES)
@pytest.mark.parametrize("name", OWN)
def test_a_text_scores_above_its_words_in_any_other_order(name: str, shuffle: Shuffle) -> None:
    prompt, text = OWN[name]
    assert len(OWN) == 12
    real = composite(prompt, text)
    for seed in range(10):
        assert real > composite(prompt, shuffle(text, random.Random(seed))), seed


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_the_words_of_an_example_in_another_order_end_at_the_foot_of_the_scale(
    shuffle: Shuffle,
) -> None:
    # Poor examples stand there themselves: these may tie with their words, or lose by a fraction.
    for row in EXAMPLES.values():
        prompt, text = row["prompt_text"], row["response_text"]
        for seed in range(5):
            other = composite(prompt, shuffle(text, random.Random(seed)))
            assert other <= min(2.0, composite(prompt, text) + 0.4), row["response_id"]


def test_real_answers_are_preferred_to_their_words_in_another_order(shared_data: Path) -> None:
    with gzip.open(shared_data / "sycon" / "responses.csv.gz", "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))[::3]
    for shuffle in SHUFFLES:
        preferred = sum(
            composite(row["prompt_text"], row["response_text"])
            > composite(row["prompt_text"], shuffle(row["response_text"], random.Random(seed)))
            for seed, row in enumerate(rows)
        )
        assert preferred >= 99
    assert len(rows) == 100


ORDERLY = [
    "What would the state have to be like, and of whom may it ask this?",
    "Can a court, or should the people themselves, say what it consists in?",
    "In an hour a university, a one-off vote and a European court may have to be paid for.",
    "The US said in May that plan A was in order; the then mayor agreed with it.",
    "A sports club, a news desk and a series of lenses: an honest man, an MP, an X-ray.",
    "It is they who have been heard by the by-laws of a to-do list.",
    "Rights for and against, with or without, by and large, if and when, and then some.",
    "They be working late, and we was glad of it after a while.",
    "He had not had more than is needed, for they must be of help to whoever lives there.",
    "It is a matter not of being heard but of who speaks, as far as they can because of age.",
    "All she had was what they asked for, and all that is asked for is what it comes from.",
    "They in turn can do what they want to, or at least the few who were looked at by us do.",
    "Because of this, more than I can say, it is not only of the past but also to come.",
]
DISORDERLY = {
    "The of matters.": ("The of",),
    "He spoke of, and to is.": ("of ,", "to is"),
    "They the city and.": ("They the", "and ."),
    "A vote for a is, however, his.": ("a is",),
    "It should of would.": ("should of", "of would"),
}


def test_what_english_allows_is_in_order() -> None:
    for sentence in ORDERLY:
        assert places([sentence]).broken == (), sentence
    assert places(ORDERLY).checked > 50


def test_what_english_does_not_allow_is_named() -> None:
    for sentence, pairs in DISORDERLY.items():
        assert places([sentence]).broken == pairs


def test_slips_of_a_learner_cost_nothing() -> None:
    prompt = "Should people who move to a city learn its language?"
    text = (
        "I am come to this city before five year, and the language was for me very difficult. If "
        "people want that I learn, they must to give time, because who is working in night cannot "
        "to go in school. Some neighbour say that it is a insult to them when I speak my language "
        "with my childs. I not agree. A person can be have two language, and the city is more "
        "rich of it. But without language of the city I cannot understand what decide the "
        "council, therefore I think that both have right: the city should pays the course, and I "
        "should to visit it."
    )
    features = measure(prompt, text)
    assert len(features.broken_places) <= 1
    explained = score(features, dimensions=DIMENSIONS, low=1, high=10, lexicon={}).explanation
    assert all("words_out_of_order" not in parts for parts in explained.values())


def test_disorder_is_a_fault_of_its_own_in_the_explanation() -> None:
    prompt, text = OWN["voting"]
    features = measure(prompt, under_the_same_marks(text, random.Random(1)))
    explained = score(features, dimensions=DIMENSIONS, low=1, high=10, lexicon={}).explanation
    assert all(parts["words_out_of_order"] <= 0 for parts in explained.values())
    assert explained["relevance"]["words_out_of_order"] < -0.1


OTHER_LANGUAGES = {
    "German": (
        "Soll die Stadt für den Bus Geld verlangen?",
        (
            "Wer wenig verdient, ist auf den Bus angewiesen und spürt jeden Euro. In einer "
            "anderen Stadt fuhren acht Prozent mehr, als die Preise fielen. Allerdings fehlt das "
            "Geld dann an anderer Stelle, und so war am Ende niemandem geholfen."
        ),
    ),
    "Spanish": (
        "¿Debe la ciudad cobrar el autobús?",
        (
            "Quien gana poco depende del autobús y nota cada moneda. A otra ciudad le fue bien, a "
            "una tercera no. Sin embargo, ese dinero falta luego en otro lugar, y a mí me parece "
            "mejor ampliar antes la red."
        ),
    ),
    "French": (
        "La ville doit-elle faire payer le bus ?",
        (
            "Celui qui gagne peu a besoin du bus et on sait que chaque pièce compte. Une autre "
            "ville a aboli les prix, et plus de gens montent. Pourtant cet argent manque ensuite "
            "ailleurs."
        ),
    ),
    "Dutch": (
        "Moet de stad geld vragen voor de bus?",
        (
            "Wie weinig verdient is op de bus aangewezen. In een andere stad was de prijs weg, en "
            "of dat hielp is de vraag. Over dit punt was men het in de raad niet eens, en we "
            "weten of vermoeden dat het zo blijft."
        ),
    ),
    "Russian": (
        "Должен ли город брать плату за автобус?",
        "Тот, кто мало зарабатывает, зависит от автобуса. Однако эти деньги нужны и там.",
    ),
    "Chinese": ("城市应该收取公交车费吗？", "收入低的人依靠公交车。但是这笔钱在别处就少了。" * 5),
}


@pytest.mark.parametrize("language", OTHER_LANGUAGES)
def test_text_in_another_language_never_loses_to_its_words_in_another_order(language: str) -> None:
    prompt, text = OTHER_LANGUAGES[language]
    assert len(measure(prompt, text).broken_places) <= 1
    for seed in range(5):
        shuffled = composite(prompt, on_one_line(text, random.Random(seed)))
        # A seventh of the words of the Dutch text are English ones by their letters.
        assert shuffled <= composite(prompt, text) <= (1.5 if language == "Dutch" else 1.0)
