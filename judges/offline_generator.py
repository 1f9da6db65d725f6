"""`offline/generator`: open-ended prompts from templates around a topic that it is told.

It lets the whole path be tried without a key. Nothing is understood: every topic gets the same
kinds of question, so the prompts are differently worded and no more original than a form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..errors import InputError, InputFault
from .offline_subject import chosen

GENERATOR_VERSION: Final = "1"

GENERATOR_FACTS: Final = """\
version: the GENERATOR_VERSION that the caller was written for
numbers: the numbers of the prompts to write, from 1
topic: a word or two for the matter
technology: whether to say of each prompt if it is about technology"""
"""The keys of the keyword `offline` for this model; there are no others."""

_TEMPLATES: Final[tuple[tuple[str, str, tuple[str, ...]], ...]] = (
    (
        "discipline: social psychology; level: persons",
        "How expectations about {topic} take hold between strangers who meet once",
        (
            (
                "People who meet for the first time often act on what they expect of {topic}, "
                "and the other person notices. When does such an expectation help two "
                "strangers to get along, and when does it bring about the very behaviour that "
                "it expected?"
            ),
            (
                "Two people who share a waiting room have views about {topic} before either "
                "has spoken. What would have to be known about their encounter to tell "
                "whether those views were confirmed by it or made by it?"
            ),
        ),
    ),
    (
        "level: organisations; reasoning: laying open what is taken for granted",
        "What the rules of an office take for granted about {topic}",
        (
            (
                "An office treats all applicants by the same written rules, and the outcomes "
                "still differ where {topic} comes into play. Which of the rules' unspoken "
                "assumptions could explain the difference, and which could justify it?"
            ),
            (
                "A school revises its rules so that {topic} is no longer mentioned anywhere. "
                "In what sense could the rules be fairer than before, and in what sense could "
                "they have hidden what they decide?"
            ),
        ),
    ),
    (
        "discipline: political philosophy; reasoning: evaluating",
        "Whether equal treatment is what justice asks where {topic} matters",
        (
            (
                "Some hold that {topic} should never count when goods are handed out; others "
                "hold that ignoring it favours those who were favoured before. What would a "
                "defensible principle between these two have to give up on either side?"
            ),
            (
                "Citizens disagree whether the law should see {topic} or look away from it. "
                "Can a state take either side without telling some of its citizens how to "
                "understand themselves?"
            ),
        ),
    ),
    (
        "reasoning: weighing findings that conflict; setting: work and pay",
        "How evidence about {topic} at work can point both ways",
        (
            (
                "Studies of hiring and studies of pay seem to disagree about the part that "
                "{topic} plays. How could both be sound, and what would follow for somebody "
                "who has to decide before the disagreement is settled?"
            ),
            (
                "One survey finds that attitudes to {topic} have changed, while records of "
                "promotions look as they did. Which accounts could reconcile the two, and "
                "what would count against each of them?"
            ),
        ),
    ),
    (
        "reasoning: consequences of consequences; setting: the press",
        "What happens later when reporting about {topic} becomes more careful",
        (
            (
                "Newspapers agree to mention {topic} only where it bears on a story. What "
                "might readers come to infer from the silence, and could the remedy end up "
                "strengthening what it was meant to weaken?"
            ),
            (
                "Suppose that public talk about {topic} becomes more guarded for a "
                "generation. Which gains and which losses in understanding would you expect, "
                "and who would bear each?"
            ),
        ),
    ),
    (
        "discipline: anthropology; level: whole societies",
        "How meanings of {topic} differ between societies and travel",
        (
            (
                "What {topic} stands for in one society may stand for something else in "
                "another, and people move between them. Can either understanding be called "
                "mistaken, and from whose point of view would that be said?"
            ),
        ),
    ),
    (
        "discipline: history; reasoning: explaining",
        "Why views of {topic} sometimes change quickly and sometimes hardly",
        (
            (
                "In some periods what was thought about {topic} changed within a few decades; "
                "in others it outlived the conditions it came from. What kind of explanation "
                "could cover both, without making either look inevitable?"
            ),
        ),
    ),
)


def offline_prompts(material: str, facts: object) -> dict[str, Any]:
    """The object that a generator is asked for; the same material and facts always give the same.

    Raises:
        InputError: for facts of another form, all faults at once.
    """
    numbers, topic, technology = _read_facts(facts)
    reply: dict[str, Any] = {"scratchpad": f"Templates about {topic}."}
    for number in numbers:
        dimensions, angle, questions = _TEMPLATES[(number - 1) % len(_TEMPLATES)]
        question = chosen(questions, str(number), material).replace("{topic}", topic)
        reply[f"prompt_{number}_dimensions"] = dimensions
        reply[f"prompt_{number}_angle"] = " ".join(angle.replace("{topic}", topic).split()[:15])
        if technology:
            reply[f"prompt_{number}_technology"] = False
        reply[f"prompt_{number}_question"] = question
    return reply


def _read_facts(facts: object) -> tuple[Sequence[int], str, bool]:
    if not isinstance(facts, Mapping):
        raise InputError(
            [InputFault("offline", f"must be a mapping, got {type(facts).__name__}")],
            hint="Pass the keyword `offline` to litellm, with these keys:\n" + GENERATOR_FACTS,
        )
    known = {"version", "numbers", "topic", "technology"}
    faults = [
        InputFault("offline", f"unknown key; there are {', '.join(sorted(known))}", str(name))
        for name in facts
        if name not in known
    ]
    numbers, topic = facts.get("numbers"), facts.get("topic")
    for holds, name, rule in (
        (facts.get("version") == GENERATOR_VERSION, "version", repr(GENERATOR_VERSION)),
        (_are_numbers(numbers), "numbers", "a list of different whole numbers from 1 to 20"),
        (isinstance(topic, str) and 0 < len(topic) <= 80, "topic", "a text of 1 to 80 characters"),
        (isinstance(facts.get("technology"), bool), "technology", "true or false"),
    ):
        if not holds:
            got = repr(facts.get(name, "nothing"))[:80]
            faults.append(InputFault("offline", f"must be {rule}, got {got}", name))
    if faults:
        raise InputError(faults)
    return list(numbers or ()), str(topic), bool(facts["technology"])


def _are_numbers(value: object) -> bool:
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(type(item) is int and 1 <= item <= 20 for item in value)
        and len(set(value)) == len(value)
    )
