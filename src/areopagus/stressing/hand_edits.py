"""A person's work in the table of variants, which no rerun may write over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import InputError, InputFault
from ..formats import listed
from ..records.variants import VariantRow, read_variants, text_sha256


def refuse_edited(
    path: Path, prompts: Mapping[str, str], new: Sequence[VariantRow] | None = None
) -> None:
    """Refuses to go on where the table that stands there is not as a model wrote it.

    A text is compared with the hash of the generated one that stands beside it; a row set to failed
    by hand gives no reasons; a row set to accepted by hand has a text that has just been found
    wanting again. A table that cannot be read any more has been changed as well.

    Args:
        path: the table; nothing is refused where there is none.
        prompts: prompt id to text.
        new: the rows that would take its place, once they are known.

    Raises:
        InputError: it has been edited.
    """
    if not path.is_file():
        return
    try:
        rows = read_variants(path, prompts).rows
    except InputError as error:
        first = error.faults[0] if error.faults else error
        raise _refusal(path, f"is no longer as it was written ({first})") from error
    failed = {(row.prompt_id, row.condition): row for row in new or () if row.status == "failed"}
    edited = [
        f"{row.prompt_id} {row.condition} (line {row.line})"
        for row in rows
        if row.edited == "edited by hand"
        or (row.status == "failed" and not row.reasons)
        or (row.status == "accepted" and _is_same(row, failed.get((row.prompt_id, row.condition))))
    ]
    if edited:
        raise _refusal(path, f"has been edited by hand: {listed(edited)}")


def _is_same(row: VariantRow, other: VariantRow | None) -> bool:
    return other is not None and text_sha256(row.prompt_text) == text_sha256(other.prompt_text)


def _refusal(path: Path, what: str) -> InputError:
    return InputError(
        [InputFault(str(path), f"{what}; writing it anew would destroy that")],
        hint=f"To use it as it stands: --variants {path} and another folder (--out). To have it "
        "written anew, move it away.",
    )
