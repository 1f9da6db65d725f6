"""What has been seen in a table, remembered as hashes: a few dozen bytes a row."""

from __future__ import annotations

from array import array
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


def text_key(text: str) -> int:
    """Returns a hash of a text, in [0, 2**64); the same in every process."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


class SeenRows:
    """Ids and texts of the rows of a table, for the checks that look across rows.

    Memory: about 60 bytes a row, and twice that while a question is answered. Ids that must be
    unique are kept as 16 bytes, so that two different ones never count as the same in practice;
    the others as 8.
    """

    def __init__(self) -> None:
        self._lines = array("Q")
        self._unique_high = array("Q")
        self._unique_low = array("Q")
        self._prompts = array("Q")
        self._prompt_texts = array("Q")
        self._respondents = array("Q")
        self._response_texts = array("Q")

    def add(
        self,
        line: int,
        *,
        unique_id: str,
        prompt_id: str,
        prompt_text: str,
        respondent_id: str | None,
        response_text: str | None,
    ) -> None:
        """Remembers a row."""
        wide = blake2b(unique_id.encode(), digest_size=16).digest()
        self._lines.append(line)
        self._unique_high.append(int.from_bytes(wide[:8], "big"))
        self._unique_low.append(int.from_bytes(wide[8:], "big"))
        self._prompts.append(text_key(prompt_id))
        self._prompt_texts.append(text_key(prompt_text))
        if respondent_id is not None and response_text is not None:
            self._respondents.append(text_key(respondent_id))
            # 0 stands for a blank text: no repetition of interest.
            self._response_texts.append(text_key(response_text) if response_text.strip() else 0)

    def n_prompts(self) -> int:
        """Returns how many different prompt ids were seen."""
        return _n_different(self._prompts)

    def n_respondents(self) -> int:
        """Returns how many different respondents were seen."""
        return _n_different(self._respondents)

    def repeated_ids(self) -> list[tuple[int, int]]:
        """Returns (line, line of the first) for every row whose id stood before, by line."""
        import numpy as np

        lines, high, low = _numbers(self._lines, self._unique_high, self._unique_low)
        order = np.lexsort((np.arange(len(lines)), low, high))
        return _later_of_groups(lines, order, [high, low])

    def conflicting_prompts(self) -> list[tuple[int, int]]:
        """Returns (line, line of the first) where a prompt id comes with another text than first.

        Each other text of a prompt is given once, at its first line.
        """
        import numpy as np

        lines, prompts, texts = _numbers(self._lines, self._prompts, self._prompt_texts)
        order = np.lexsort((np.arange(len(lines)), texts, prompts))
        p, t = prompts[order], texts[order]
        starts = (
            np.flatnonzero(np.r_[True, (p[1:] != p[:-1]) | (t[1:] != t[:-1])]) if len(p) else order
        )
        firsts = np.sort(order[starts])  # first row of every (prompt, text), in row order
        by_prompt = firsts[np.argsort(prompts[firsts], kind="stable")]
        return _later_of_groups(lines, by_prompt, [prompts])

    def repeated_texts(self) -> frozenset[int]:
        """Returns `text_key` of texts that one respondent gives to two or more prompts."""
        import numpy as np

        if not self._response_texts:
            return frozenset()
        prompts, respondents, texts = _numbers(
            self._prompts, self._respondents, self._response_texts
        )
        order = np.lexsort((prompts, texts, respondents))
        p, r, t = prompts[order], respondents[order], texts[order]
        repeats = (r[1:] == r[:-1]) & (t[1:] == t[:-1]) & (p[1:] != p[:-1]) & (t[1:] != 0)
        return frozenset(int(key) for key in np.unique(t[1:][repeats]))


def _numbers(*columns: array[int]) -> list[NDArray[Any]]:
    import numpy as np

    return [
        np.frombuffer(column, dtype=np.uint64) if column else np.zeros(0, np.uint64)
        for column in columns
    ]


def _n_different(column: array[int]) -> int:
    import numpy as np

    return int(np.unique(_numbers(column)[0]).size)


def _later_of_groups(
    lines: NDArray[Any], order: NDArray[Any], keys: list[NDArray[Any]]
) -> list[tuple[int, int]]:
    """Returns (line, line of the group's first) for all but the first row of each equal-key run."""
    import numpy as np

    if order.size == 0:
        return []
    is_start = np.r_[True, np.zeros(order.size - 1, dtype=bool)]
    for key in keys:
        is_start[1:] |= key[order][1:] != key[order][:-1]
    first_of = np.maximum.accumulate(np.where(is_start, np.arange(order.size), 0))
    later = np.flatnonzero(~is_start)
    pairs = zip(lines[order[later]].tolist(), lines[order[first_of[later]]].tolist(), strict=True)
    return sorted(pairs)
