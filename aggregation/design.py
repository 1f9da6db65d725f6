"""The design of a panel run, detected from who judged what; `records.design` says it in words.

Which standard error is right depends on the design. With several responses a prompt, what a judge
adds to all answers to one prompt cancels when they are compared; with one response a prompt it is
error. What one model, one persona or one judge adds can be told from nothing else. Judges that
differ from response to response bring in how harsh they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Labels = Sequence[Any] | npt.NDArray[Any]

Target = Literal["response_within_prompt", "response"]
"""What is told apart: responses to the same prompt, or responses wherever they stand."""

Factor = Literal["model", "persona"]

FELL_OUT: Final = 2 / 3
"""A model or persona is named whose share of scored judgments is below this part of the best
one's share: the quorum, as of a response."""

CONFOUNDED: Final = (
    "every response was judged once: the error of a judge cannot be told from how the responses "
    "differ"
)


@dataclass(frozen=True, slots=True)
class FellOut:
    """A model or persona of which much is missing: how much was scored of what was asked."""

    factor: Factor
    name: str
    n_scored: int
    n_asked: int


@dataclass(frozen=True, slots=True)
class Design:
    """Who judged what.

    Attributes:
        prompts, responses, respondents: how many there are.
        sharing: responses to a prompt that has another response.
        fewest_responses, most_responses: to one prompt.
        is_paired: whether every respondent answered every prompt once.
        judges: persona x model pairs that were asked.
        personas, models, repeats: of them.
        fewest_asked, most_asked: judgments asked for on one response.
        most_scored: judgments scored of one response.
        is_replicated: whether a judge was scored twice on one response.
        asked, scored: judgments in all.
        fell_out: models and personas of which much is missing.
    """

    prompts: int
    responses: int
    sharing: int
    fewest_responses: int
    most_responses: int
    respondents: int
    is_paired: bool
    judges: int
    personas: int
    models: int
    repeats: int
    fewest_asked: int
    most_asked: int
    most_scored: int
    is_replicated: bool
    asked: int
    scored: int
    fell_out: tuple[FellOut, ...] = ()

    @property
    def target(self) -> Target:
        """What the run can tell apart.

        Responses to one prompt, where half of the responses or more share their prompt with
        another; else responses wherever they stand: what a prompt adds cannot be told from what
        its response adds, and what a judge thinks of a prompt is error.
        """
        return "response_within_prompt" if 2 * self.sharing >= self.responses else "response"

    @property
    def is_incomplete(self) -> bool:
        """Whether not every response was put to the same judges: a rotation or a stopping rule."""
        return self.fewest_asked < self.judges * self.repeats

    @property
    def is_confounded(self) -> bool:
        """Whether no response was scored twice: there is no error of measurement then."""
        return self.most_scored < 2


def design_of(
    prompt: Labels,
    response: Labels,
    persona: Labels,
    model: Labels,
    *,
    repeat: Labels | None = None,
    respondent: Labels | None = None,
    asked: npt.ArrayLike | None = None,
    scored: npt.ArrayLike | None = None,
    persona_names: Sequence[str] | None = None,
    model_names: Sequence[str] | None = None,
) -> Design:
    """Returns the design of these judgments, an element of each array a planned judgment.

    Args:
        prompt, response, persona, model: labels, or codes from 0.
        repeat: which asking of the judge; None for once.
        respondent: who wrote the response; None for one.
        asked: whether the judgment was asked for; False of one that a stopping rule did not want.
            None: all were.
        scored: whether it has a score. None: all have.
        persona_names, model_names: of the codes; None: the labels are the names.

    Raises:
        ValueError: arrays of different lengths, or without an element.
    """
    columns = {"prompt": prompt, "response": response, "persona": persona, "model": model}
    n = len(response)
    if repeat is not None:
        columns["repeat"] = repeat
    if respondent is not None:
        columns["respondent"] = respondent
    if n == 0 or any(len(column) != n for column in columns.values()):
        sizes = {name: len(column) for name, column in columns.items()}
        raise ValueError(f"a design needs arrays of one length, at least 1, got {sizes}")
    is_asked = np.ones(n, dtype=bool) if asked is None else np.asarray(asked, dtype=bool)
    is_scored = is_asked if scored is None else np.asarray(scored, dtype=bool) & is_asked
    codes = {name: _codes(column) for name, column in columns.items()}
    r, P, M = codes["response"], codes["persona"], codes["model"]
    of_response = np.zeros(int(r.max()) + 1, dtype=np.int64)  # a response has one prompt
    of_response[r] = codes["prompt"]
    per_prompt = np.bincount(of_response)
    judge = P * (int(M.max()) + 1) + M
    per_response = np.bincount(r, weights=is_asked, minlength=len(of_response)).astype(np.int64)
    scored_of = np.bincount(r, weights=is_scored, minlength=len(of_response)).astype(np.int64)
    judges = int((np.bincount(judge) > 0).sum())
    respondents, is_paired = 1, len(per_prompt) == len(of_response)
    if respondent is not None:
        who = np.zeros(len(of_response), dtype=np.int64)
        who[r] = codes["respondent"]
        respondents = int(who.max()) + 1
        pairs = np.unique(of_response * respondents + who)
        is_paired = len(pairs) == len(of_response) == len(per_prompt) * respondents
    is_replicated = False
    if repeat is not None and int(codes["repeat"].max()) > 0:
        cells = (r * (int(judge.max()) + 1) + judge)[is_scored]
        is_replicated = len(np.unique(cells)) < len(cells)
    sides: tuple[tuple[Factor, Integers, list[str]], ...] = (
        ("model", M, _names(model, model_names)),
        ("persona", P, _names(persona, persona_names)),
    )
    return Design(
        prompts=len(per_prompt),
        responses=len(of_response),
        sharing=int(per_prompt[per_prompt > 1].sum()),
        fewest_responses=int(per_prompt.min()),
        most_responses=int(per_prompt.max()),
        respondents=respondents,
        is_paired=is_paired,
        judges=judges,
        personas=int(P.max()) + 1,
        models=int(M.max()) + 1,
        repeats=int(codes["repeat"].max()) + 1 if repeat is not None else 1,
        fewest_asked=int(per_response.min()),
        most_asked=int(per_response.max()),
        most_scored=int(scored_of.max()),
        is_replicated=is_replicated,
        asked=int(is_asked.sum()),
        scored=int(is_scored.sum()),
        fell_out=tuple(
            one
            for factor, code, names in sides
            for one in fell_out(
                factor,
                names,
                np.bincount(code, weights=is_asked, minlength=len(names)),
                np.bincount(code, weights=is_scored, minlength=len(names)),
            )
        ),
    )


def _codes(labels: Labels) -> Integers:
    """Codes from 0 without gaps, in the order of the labels."""
    array = np.asarray(labels)
    if array.dtype.kind in "iu" and array.min() >= 0 and array.max() < 4 * len(array) + 1000:
        present = np.bincount(array) > 0  # sorting a million judgments would take a second
        places: Integers = (np.cumsum(present) - 1)[array]
        return places
    return np.unique(_plain(array), return_inverse=True)[1].reshape(-1).astype(np.int64)


def _names(labels: Labels, names: Sequence[str] | None) -> list[str]:
    """The names of the codes that occur, in the order of `_codes`."""
    array = np.asarray(labels)
    if names is not None:
        return [names[code] for code in np.flatnonzero(np.bincount(array)).tolist()]
    return [str(one) for one in np.unique(_plain(array))]


def _plain(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Numbers as they are, all else as text: labels of mixed types have no order."""
    return array if array.dtype.kind in "iuf" else array.astype(str)


def fell_out(
    factor: Factor, names: Sequence[str], asked: npt.ArrayLike, scored: npt.ArrayLike
) -> list[FellOut]:
    """Returns the models, or personas, of which much is missing; see `FELL_OUT`.

    Args:
        factor: what they are.
        names: of each.
        asked, scored: judgments of each, shape (names,).
    """
    n_asked, n_scored = np.asarray(asked, dtype=np.int64), np.asarray(scored, dtype=np.int64)
    share = n_scored / np.maximum(n_asked, 1)
    few = np.flatnonzero((n_asked > 0) & (share < FELL_OUT * share.max(initial=0.0)))
    return [FellOut(factor, names[k], int(n_scored[k]), int(n_asked[k])) for k in few.tolist()]
