"""The prompts and responses of a run beside its tables, compressed, for its report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from ..errors import InputError, InputFault
from .csv_lines import writable
from .run_folder import TEXTS_FILE, replaced, unwritable

TEXT_COLUMNS: Final = ("response_id", "prompt_text", "response_text")

_GROUP_CHARS: Final = 8_000_000
"""Characters of text that are held before they are written."""

_ROW_CHARS: Final = 200
"""What a row counts beside its texts, so that millions of empty ones are not held either."""


class TextWriter:
    """Writes texts.parquet as responses come; it takes its place when `close` is called."""

    def __init__(self, folder: Path) -> None:
        """Opens the file.

        Raises:
            StoreError: the folder cannot be written.
        """
        import pyarrow as pa
        import pyarrow.parquet as parquet

        self._folder = folder
        self._schema = pa.schema([(name, pa.string()) for name in TEXT_COLUMNS])
        self._rows: list[tuple[str, str, str]] = []
        self._chars = 0
        self._stack = ExitStack()
        try:
            part = self._stack.enter_context(replaced(folder / TEXTS_FILE))
            self._file = parquet.ParquetWriter(part, self._schema, compression="zstd")
            self._stack.callback(self._file.close)
        except OSError as error:
            self._give_up(error)
            raise unwritable(folder, error) from error
        except BaseException as error:
            self._give_up(error)
            raise

    def add(self, response_id: str, prompt_text: str, response_text: str) -> None:
        """One more response, in the order of the tables.

        Raises:
            StoreError: the folder cannot be written any more.
        """
        self._rows.append((response_id, prompt_text, response_text))
        self._chars += len(prompt_text) + len(response_text) + _ROW_CHARS
        if self._chars >= _GROUP_CHARS:
            self._flush()

    def close(self) -> None:
        """Finishes the file and puts it in place.

        Raises:
            StoreError: the folder cannot be written any more; what was there stays as it is.
        """
        self._flush()
        try:
            self._stack.close()
        except OSError as error:
            raise unwritable(self._folder, error) from error

    def abandon(self) -> None:
        """Drops what was written; a file that was there before stays as it is."""
        self._give_up(_AbandonedError())

    def _flush(self) -> None:
        if not self._rows:
            return
        import pyarrow as pa

        columns = zip(*self._rows, strict=True)
        arrays = [[writable(text) for text in column] for column in columns]
        try:
            self._file.write_table(
                pa.table(dict(zip(TEXT_COLUMNS, arrays, strict=True)), schema=self._schema)
            )
        except OSError as error:
            raise unwritable(self._folder, error) from error
        self._rows.clear()
        self._chars = 0

    def _give_up(self, error: BaseException) -> None:
        try:
            self._stack.__exit__(type(error), error, error.__traceback__)
        except BaseException as raised:
            if raised is not error:
                raise


def read_texts(folder: str | Path, wanted: Iterable[str]) -> Mapping[str, tuple[str, str]]:
    """Response id to (prompt text, response text) of those wanted; empty where none are stored.

    Raises:
        InputError: the file is there and cannot be read.
    """
    import pyarrow.parquet as parquet

    path = Path(folder) / TEXTS_FILE
    if not path.is_file():
        return {}
    ids = set(wanted)
    found: dict[str, tuple[str, str]] = {}
    prompts: dict[str, str] = {}
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=1024, columns=list(TEXT_COLUMNS)):
                columns: dict[str, list[Any]] = batch.to_pydict()
                for name, prompt, response in zip(*columns.values(), strict=True):
                    if name in ids:
                        # One string for all the responses to a prompt.
                        found[name] = (prompts.setdefault(prompt, prompt), response)
    except (OSError, ValueError, KeyError) as error:
        raise InputError([InputFault(str(path), f"cannot be read: {error}")]) from error
    return found


class _AbandonedError(Exception):
    """Unwinds the writer without putting its file in place."""
