"""What people have written (task 1), as the responses table that `study build` and `score` read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .files import Packet, StudyFile
from .sitting import ended
from .store import SavedPage
from .unblind import StudyMap

WRITTEN_COLUMNS = (
    "response_id", "prompt_id", "prompt_text", "response_text", "respondent_id", "source",
    "words", "minutes", "pasted_chars", "is_timed_out",
)  # fmt: skip

PASTED_SHARE = 0.5


def written_rows(
    study: StudyFile,
    packets: Sequence[Packet],
    saved: Sequence[SavedPage],
    study_map: StudyMap,
    rater_of: Mapping[str, str],
    *,
    now: float,
) -> tuple[list[dict[str, Any]], list[str]]:
    """Returns a row for each response that was handed in or whose time is over, and notices.

    `minutes` runs from the start of the page to its end; `pasted_chars` counts what was pasted into
    it, which is no proof of anything.
    """
    by_page = {(page.rater, page.number): page for page in saved}
    rows: list[dict[str, Any]] = []
    n_open = n_empty = 0
    pasted: list[str] = []
    for packet in packets:
        page = by_page.get((packet.rater, packet.number))
        end = None if page is None else ended(study, page, now)
        if page is None or end is None:
            n_open += 1
            continue
        if not page.text.strip():
            n_empty += 1
            continue
        prompt = study_map.prompts[packet.rater, packet.number]
        opened = page.opened_at if page.opened_at is not None else end
        rows.append(
            {
                "response_id": f"{prompt}-{packet.rater}",
                "prompt_id": prompt,
                "prompt_text": packet.prompt,
                "response_text": page.text,
                "respondent_id": rater_of[packet.rater],
                "source": "human",
                "words": len(page.text.split()),
                "minutes": round((end - opened) / 60, 1),
                "pasted_chars": page.pasted_chars,
                "is_timed_out": page.done_at is None,
            }
        )
        if page.pasted_chars > PASTED_SHARE * len(page.text):
            pasted.append(f"{prompt}-{packet.rater}")
    notices = []
    if n_open:
        notices.append(f"{n_open} of {len(packets)} pages are not written yet")
    if n_empty:
        notices.append(f"{n_empty} pages ran out of time with nothing on them")
    if pasted:
        shown = ", ".join(pasted[:8]) + (" …" if len(pasted) > 8 else "")
        notices.append(f"more than half was pasted in: {shown}")
    return rows, notices
