"""Hugging Face: data sets on a hub as input, and a run as a data set with its card.

    areopagus score hf://owner/name/test --out RUN
    areopagus export RUN --as hf

Reading needs `areopagus[hf]`; a folder that `datasets` saved, and the export, need nothing more.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from ..errors import InputError, InputFault, StoreError
from ..formats import count, units, words
from ..publishing.markup import markdown, to_markdown
from ..publishing.methods import METHOD_PAPER, methods
from ..publishing.tables import TABLES, UNITS, RunTable, in_short, run_table, run_texts
from ..records.estimates import ESTIMATES_FILE
from ..records.export import KINDS, Exported
from ..records.readers.rows import read_limits
from ..records.run_folder import read_run_file, replaced
from ..reports.document import Column, Paragraph, Part, Points, Section, Table

if TYPE_CHECKING:
    import pyarrow as pa

    from ..records.variables import Variable

# A data set on a hub, as input --------------------------------------------------------------------

_TABLE_FILES: Final = tuple(
    f"*.{ending}{packed}"
    for ending in ("csv", "tsv", "json", "jsonl", "ndjson", "parquet", "arrow")
    for packed in ("", ".gz", ".zst")
)
_CARD_FILES: Final = ("README.md", ".huggingface.yaml")
_FORM: Final = "hf://owner/name[@revision][/FILE, /SPLIT or /CONFIGURATION/SPLIT]"


class HubAddress(NamedTuple):
    """What an address names: a data set, its revision, and what of it."""

    repo: str
    revision: str | None
    rest: str

    @classmethod
    def read(cls, address: str) -> HubAddress:
        """Reads `hf://owner/name[@revision][/rest]`.

        A slash within a revision is written %2F; `hf://datasets/owner/name` is the same.

        Raises:
            InputError: for anything else.
        """
        parts = address.partition(":")[2].strip("/").split("/")
        if len(parts) > 2 and parts[0] == "datasets":
            parts = parts[1:]
        owner, name, *rest = [*parts, ""][:2] + parts[2:]
        name, _, revision = name.partition("@")
        if any(one in ("", ".", "..") for one in (owner, name, *rest)):
            raise InputError([InputFault(address, f"must be {_FORM}")])
        return cls(f"{owner}/{name}", revision.replace("%2F", "/") or None, "/".join(rest))


def from_hub(
    address: str, *, endpoint: str | None = None
) -> tuple[str, Path | Iterable[Mapping[str, Any]]]:
    """What stands at an address on a hub: its name with the commit that it has, and the rows.

    A file is brought as it is. Of a split, all tables of the data set are brought, and `datasets`
    says which of them hold it. What was brought stands in the cache of `huggingface_hub`; a token
    that the library knows is sent to the hub, and nothing to anybody else.

    Args:
        address: as of `HubAddress.read`.
        endpoint: of the hub; by default the library's, which `HF_ENDPOINT` names.

    Returns:
        The address with the commit's hash as its revision; and the path of the file, or the rows.

    Raises:
        InputError: no such data set, file or split, one that is not open to this user or too
            large, a hub that cannot be reached, or a package that is not installed.
    """
    asked = HubAddress.read(address)
    try:
        import huggingface_hub as hub
    except ImportError as error:
        message = "hf:// needs other packages: pip install 'areopagus[hf]'"
        raise InputError([InputFault(address, message)]) from error
    api = hub.HfApi(endpoint=endpoint)
    try:
        info = api.dataset_info(asked.repo, revision=asked.revision, files_metadata=True)
        name = f"hf://{asked.repo}@{info.sha}" + (f"/{asked.rest}" if asked.rest else "")
        sizes = {one.rfilename: one.size or 0 for one in info.siblings or ()}
        is_file = asked.rest in sizes
        wanted = [asked.rest] if is_file else [one for one in sizes if _is_table(one)]
        if fault := read_limits().bytes_fault(sum(sizes[one] for one in wanted)):
            hint = None if is_file else "name one of its files: " + ", ".join(wanted[:10])
            raise InputError([InputFault(address, fault)], hint=hint)
        if is_file:
            return name, Path(
                api.hf_hub_download(asked.repo, asked.rest, repo_type="dataset", revision=info.sha)
            )
        if not wanted:
            raise InputError([InputFault(address, "holds no table")])
        folder = api.snapshot_download(
            asked.repo,
            repo_type="dataset",
            revision=info.sha,
            allow_patterns=[*wanted, *_CARD_FILES],
        )
    except InputError:
        raise
    except Exception as error:  # of the library and of its HTTP client, which has changed
        raise InputError([InputFault(address, _told(error, api.endpoint))]) from error
    return name, _split(address, folder, asked.rest)


def _is_table(name: str) -> bool:
    return any(fnmatch(name.lower(), pattern) for pattern in _TABLE_FILES)


def _told(error: Exception, endpoint: str) -> str:
    """Why the hub gave nothing, in a sentence."""
    endpoint = re.sub(r"//[^/@]*@", "//", endpoint)  # with a password it would be shown
    status = getattr(getattr(error, "response", None), "status_code", None)
    kind = type(error).__name__
    if kind == "GatedRepoError":
        return f"is gated: ask for access on {endpoint}, and give your token as HF_TOKEN"
    if kind == "RevisionNotFoundError":
        return f"has no such revision on {endpoint}"
    if status in (401, 403, 404):
        return (
            f"is not on {endpoint}, or not open to you (HTTP {status}); for a private one give "
            "your token as HF_TOKEN"
        )
    if status is not None:
        return f"{endpoint} answered HTTP {status}"
    if kind == "HFValidationError":
        return f"names no data set: {error}"[:300]
    if kind == "OfflineModeIsEnabled":
        return "cannot be brought: HF_HUB_OFFLINE is set. A folder on this machine can be scored"
    return (
        f"cannot be brought: {endpoint} is not reachable from here ({kind}). Bring the file by "
        "other means and name its path"
    )


def _split(address: str, folder: str, rest: str) -> Iterator[Mapping[str, Any]]:
    """The rows of one split of a data set's files."""
    try:
        import datasets  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        message = "a split needs another package: pip install 'areopagus[hf]'; or name a file"
        raise InputError([InputFault(address, message)]) from error
    try:
        _require_own_files(address, Path(folder))
        configurations = datasets.get_dataset_config_names(folder)
        named = [one for one in rest.split("/") if one]
        if named and named[0] in configurations:
            configuration: str | None = named.pop(0)
        else:
            configuration = datasets.get_dataset_default_config_name(folder)
        if configuration is None:
            raise _choose(address, "configurations", configurations)
        splits = [str(one) for one in datasets.get_dataset_split_names(folder, configuration)]
        split = "/".join(named) or (splits[0] if len(splits) == 1 else None)
        if split not in splits:
            raise _choose(address, "splits", splits)
        # Streamed: the rows are copied once as it is, and the cache gets no second copy.
        rows = datasets.load_dataset(folder, configuration, split=split, streaming=True)
    except InputError:
        raise
    except Exception as error:  # whatever the library meets in others' files; it has no list
        raise _unreadable(address, error) from error
    return _rows(address, rows)


def _require_own_files(address: str, folder: Path) -> None:
    """Refuses a card that names files which are not the data set's.

    `datasets` would read them: any file of this machine, or what stands at any address.

    Raises:
        InputError: it names such files.
        ValueError: a card that is not readable; of yaml also its own error.
    """
    import yaml
    from huggingface_hub.repocard import metadata_load

    for name in _CARD_FILES:
        path = folder / name
        if not path.is_file():
            continue
        if path.suffix == ".md":
            card: Any = metadata_load(path)
        else:
            card = yaml.safe_load(path.read_text(encoding="utf-8"))
        configs = (card or {}).get("configs") or ()
        for named in _texts_in([[one.get("data_files"), one.get("data_dir")] for one in configs]):
            is_address = "::" in named or urlsplit(named).scheme  # or a drive, as in C:
            if is_address or named[:1] in ("/", "\\", "~") or ".." in re.split(r"[/\\]", named):
                raise InputError(
                    [InputFault(address, f"its {name} names a file that is not its own: {named}")]
                )


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _texts_in(one)


def _rows(address: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    try:
        yield from rows
    except Exception as error:
        raise _unreadable(address, error) from error


def _unreadable(address: str, error: Exception) -> InputError:
    message = f"not readable as a data set: {type(error).__name__}: {error}"[:300]
    return InputError([InputFault(address, message)])


def _choose(address: str, what: str, names: Sequence[str]) -> InputError:
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    example = f"{address.rstrip('/')}/{names[0]}" if names else _FORM
    return InputError([InputFault(address, f"has the {what} {shown}: name one, as {example}")])


# A run as a data set ------------------------------------------------------------------------------

CARD_FILE: Final = "README.md"
LICENCE_PLACE: Final = "LICENCE: TO BE CHOSEN"
_ABOUT: Final = {
    "scores": "a row a response",
    "judgments": "a row a planned judgment, whatever became of it",
    "estimates": "a row a figure, with its interval, unit, method, and reason where there is none",
}
_TEXT_COLUMNS: Final = ("prompt_text", "response_text")


def export_hf(
    run_folder: Path,
    out: Path | None = None,
    *,
    texts: bool = False,
    personas: Sequence[str | Path] = (),
) -> Exported:
    """Writes a run as a data set: three tables in Parquet, and a card made from run.json.

    Args:
        run_folder: a panel's run.
        out: the folder; `hf` in the run folder when left out.
        texts: whether prompts and responses are in the scores, and what judges wrote in the
            judgments.
        personas: folders with the personas' and the rubric's files, where they are not built in.

    Raises:
        InputError: no panel's run, or one without estimates.
        StoreError: the folder cannot be written.
    """
    folder = out or run_folder / KINDS["hf"].file
    tables = {name: _table(run_folder, name, texts=texts, folders=personas) for name in TABLES}
    card = _card(run_folder, tables, personas, texts=texts)  # refuses before anything is written
    data = folder / "data"
    try:
        data.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} cannot be made: {error}") from error
    n = {name: _write_table(data / f"{name}.parquet", table) for name, table in tables.items()}
    _write_estimates(run_folder, data / ESTIMATES_FILE)
    with replaced(folder / CARD_FILE) as part:
        part.write_text(card, encoding="utf-8")
    return Exported(
        folder,
        n["scores"],
        n["scores"],
        unit="response",
        notes=(
            (
                f"Choose a licence in its {CARD_FILE} and complete it. Then publish it with "
                f"`hf upload OWNER/NAME {shlex.quote(str(folder))} . --repo-type dataset`"
            ),
        ),
    )


def _table(run_folder: Path, name: Any, *, texts: bool, folders: Sequence[str | Path]) -> RunTable:
    table = run_table(run_folder, name, texts=texts, folders=folders)
    if name == "scores":
        return table
    # Each text stands once, with its response.
    kept = tuple(one for one in table.variables if one.name not in _TEXT_COLUMNS)
    return replace(table, variables=kept)


def _write_table(target: Path, table: RunTable) -> int:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    schema = pa.schema([(one.name, _arrow_type(one)) for one in table.variables])
    n = 0
    with replaced(target) as part, parquet.ParquetWriter(part, schema) as writer:
        for frame in table.chunks():
            columns = []
            for one in table.variables:
                values = frame[one.name]
                if not one.is_numeric:
                    values = values.astype(object).where(values.notna(), None)
                    values = values.map(str, na_action="ignore")
                columns.append(pa.array(values, from_pandas=True).cast(_arrow_type(one)))
            writer.write_table(pa.table(columns, schema=schema))
            n += len(frame)
    return n


def _arrow_type(variable: Variable) -> pa.DataType:
    import pyarrow as pa

    if not variable.is_numeric:
        return pa.string()
    return pa.int64() if variable.kind == "count" else pa.float64()


def _write_estimates(run_folder: Path, target: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    table = parquet.read_table(run_folder / ESTIMATES_FILE).replace_schema_metadata(None)
    for place, one in enumerate(table.schema):
        # A key that no figure of this run has is empty text: all runs have the same columns.
        if pa.types.is_null(one.type) or pa.types.is_dictionary(one.type):
            table = table.set_column(place, one.name, table.column(place).cast(pa.string()))
    with replaced(target) as part:
        parquet.write_table(table, part)


# Its card -----------------------------------------------------------------------------------------


def _card(
    run_folder: Path,
    tables: Mapping[str, RunTable],
    folders: Sequence[str | Path],
    *,
    texts: bool,
) -> str:
    import yaml

    told = methods(run_folder)
    title = f"Scores of {run_folder.resolve().name}"
    head = {
        "pretty_name": title,
        "tags": ["areopagus", "llm-as-a-judge", *["demonstration"] * told.is_demonstration],
        "configs": [
            {"config_name": name, "data_files": f"data/{name}.parquet"}
            | ({"default": True} if name == "scores" else {})
            for name in _ABOUT
        ],
    }
    front = yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=10_000)
    before = replace(told, sections=[_what(tables["scores"].record, texts=texts)])
    after = replace(
        told,
        is_demonstration=False,
        sections=[
            *(one for one in told.sections if one.audience != "appendix"),
            Section("who", "Personas and rubric", _judged(run_folder, folders), "detail"),
            Section("columns", "Columns", [_columns(table) for table in tables.values()], "detail"),
            Section("limits", "Limits", [Points(_limits(texts=texts))], "summary"),
            *(one for one in told.sections if one.audience == "appendix"),
        ],
    )
    return "\n".join(
        [
            f"---\n# {LICENCE_PLACE}, as in: license: cc-by-4.0\n{front}---\n",
            f"# {markdown(title)}\n",
            to_markdown(before),
            _HOW_TO_READ,
            to_markdown(after),
            _LICENCE,
        ]
    )


def _what(record: Mapping[str, Any], *, texts: bool) -> Section:
    found = record["responses"]
    identity = record["identity"]
    sentence = (
        f"{units(int(found['n']), 'response')} by {units(int(found['respondents']), 'respondent')} "
        f"to {units(int(found['prompts']), 'prompt')}, scored by a panel of "
        f"{units(len(identity['personas']), 'persona')} on "
        f"{units(len(identity['models']), 'model')}: "
        f"{count(int(record['counts'].get('scored', 0)))} of "
        f"{count(int(record['n_planned']))} planned judgments scored."
    )
    with_texts = (
        "Prompts, responses and what judges wrote are included."
        if texts
        else "Prompts and responses are not included."
    )
    rows = [[name, about] for name, about in _ABOUT.items()]
    parts: list[Part] = [
        Paragraph(f"{sentence} {with_texts}"),
        Table(
            "Three tables, which share their ids:",
            "Tables",
            [Column("Table", "id"), Column("Holds")],
            rows,
        ),
    ]
    return Section("what", "What it is", parts, "summary")


def _judged(run_folder: Path, folders: Sequence[str | Path]) -> list[Part]:
    rubric, personas = run_texts(run_folder, folders)
    identity = read_run_file(run_folder)["identity"]
    rows: list[list[Any]] = [
        ["persona", name, in_short(personas[name].description) if name in personas else ""]
        for name in identity["personas"]
    ]
    labels = {one.id: one for one in rubric.dimensions} if rubric else {}
    for name in identity["criteria"]:
        one = labels.get(name)
        rows.append(["criterion", name, one.definition if one else ""])
    columns = [Column("Kind"), Column("Name", "id"), Column("In short", "wide")]
    caption = f"Who judged, and on what (rubric {identity['rubric']['id']})."
    return [Table(caption, "Personas and rubric", columns, rows)]


def _columns(table: RunTable) -> Table:
    rows = [
        [one.name, one.about or one.label, ", ".join(words(name) for name in one.reasons)]
        for one in table.variables
    ]
    columns = [Column("Column", "id"), Column("Meaning", "wide"), Column("Empty where", "wide")]
    return Table(
        f"Columns of {table.name}, a row a {UNITS[table.name]}.", table.name, columns, rows
    )


def _limits(*, texts: bool) -> list[tuple[str, str]]:
    found = [
        (
            "Judged by models.",
            (
                "No score is a person's. Judges of one response err alike, so that judgments are "
                "not independent raters: test over prompts, as the estimates do."
            ),
        ),
        (
            "Failures.",
            (
                "A judgment that is not scored has no number, and its status says why. Count the "
                "scored of the planned before taking a mean."
            ),
        ),
        (
            "Columns of the input.",
            (
                "Columns that came with the responses are in the scores as they were: look whether "
                "they may be published."
            ),
        ),
    ]
    if texts:
        found.append(
            ("Texts.", "Prompts and responses belong to who wrote them; their licences hold.")
        )
    return found


_HOW_TO_READ: Final = """## How to read it

```python
from datasets import load_dataset

scores = load_dataset("OWNER/NAME", "scores", split="train")
judgments = load_dataset("OWNER/NAME", "judgments", split="train")
estimates = load_dataset("OWNER/NAME", "estimates", split="train")
```

Without that library: `pandas.read_parquet("data/scores.parquet")`.
"""

_LICENCE: Final = f"""## Licence

**{LICENCE_PLACE}** by you who publish, here and in the first lines of this file. It covers the
scores; texts and columns of the input have licences of their own.

## To cite

The method: {markdown(METHOD_PAPER)}. The tool: Areopagus, in the version named under Methods. The
responses: TO BE COMPLETED, who wrote them and where they are from.
"""
