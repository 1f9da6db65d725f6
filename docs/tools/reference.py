"""The pages of the reference, made of the code and the command line; none is written by hand.

`columns_page` is committed as docs/reference/columns.md, for readers without the site; a test holds
it equal. Run this module to write it anew. The other pages are made when the site is built.
"""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel

from areopagus.records.columns import meaning

COLUMNS_PAGE = Path(__file__).parents[1] / "reference" / "columns.md"


def pages() -> Iterator[tuple[str, str]]:
    """Place and text of every page that is made when the site is built."""
    yield "reference/commands.md", commands_page()
    yield "reference/fields.md", fields_page()
    yield "reference/python.md", python_page()
    yield "reference/estimators.md", estimators_page()


def _cell(text: str) -> str:
    """Text in one cell of a table, its sign for alternatives kept."""
    return re.sub(r"\s+", " ", text).strip().replace("|", "\\|")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _prose(text: str) -> str:
    """Plain text as Markdown: what looks like a tag, or like a list by chance, stays text."""
    return re.sub(r"<(?=[A-Za-z/!])", "&lt;", text)


# Columns -----------------------------------------------------------------------------------------


def tables() -> list[tuple[str, str, tuple[str, ...], str]]:
    """(File, what a row is, its columns, what follows them) of every table that is written."""
    from areopagus.attacks.rescoring import _COLUMNS as RESCORED
    from areopagus.audits.answers_table import OWN_COLUMNS, VOTE_COLUMNS
    from areopagus.experiment.respond import COLUMNS as ANSWERED
    from areopagus.persona_review.response_table import _COLUMNS as DEPARTURES
    from areopagus.prompts.tables import COLUMNS as PROMPTS
    from areopagus.records.estimates import COLUMNS as ESTIMATES
    from areopagus.records.tables import (
        JUDGMENT_COLUMNS,
        PROVENANCE_COLUMNS,
        SCORE_COLUMNS,
        TEXT_COLUMNS,
    )
    from areopagus.records.variants import VARIANT_COLUMNS
    from areopagus.study.labelled import LABEL_COLUMNS

    criteria = "one for each criterion"
    of_prompts = {
        "prompts.csv": "one prompt of the set",
        "candidates.csv": "one prompt that was written",
        "bundles.csv": "one model and scenario",
        "votes.csv": "one vote",
        "pairs.csv": "two prompts that were compared",
    }
    return [
        (
            "scores.csv",
            "one response",
            SCORE_COLUMNS,
            """Then the panel's mean of each criterion with `_low` and `_high`; the mean composite
            of each `axis_NAME`, `model_NAME` and `persona_NAME`; and the input's other columns
            (`input_NAME` where a name is taken).""",
        ),
        (
            "judgments.parquet",
            "one planned judgment",
            (*JUDGMENT_COLUMNS, criteria, *PROVENANCE_COLUMNS),
            "",
        ),
        ("estimates.csv", "one figure; the same in `estimates.parquet`", ESTIMATES, ""),
        ("texts.parquet", "one response", TEXT_COLUMNS, ""),
        (
            "responses.csv",
            "one planned answer of a model; only a stress test has `condition`",
            (*ANSWERED[:2], "condition", *ANSWERED[2:]),
            "Then what the prompts' file carried.",
        ),
        ("variants.csv", "one prompt, rewritten", VARIANT_COLUMNS, ""),
        (
            "answers.parquet",
            "one asking of a model under audit",
            tuple(OWN_COLUMNS),
            "Then what the audit knows of its items, and what was read in the answer.",
        ),
        ("votes.parquet", "one judge's reading of an answer", tuple(VOTE_COLUMNS), ""),
        *((name, of_prompts[name], columns, "") for name, columns in PROMPTS.items()),
        ("labels.csv", "one label of a rater in a study", LABEL_COLUMNS, ""),
        ("rescore.csv", "one flagged response, judged again", RESCORED, ""),
        (
            "departures.csv",
            "one response on which a persona stands far from people",
            DEPARTURES,
            "",
        ),
    ]


def columns_page() -> str:
    """Every table that a command writes, column by column."""
    parts = [
        "# Columns of every file\n",
        "Made from the code by `docs/tools/reference.py`: do not edit it here.\n",
    ]
    for name, row, columns, rest in tables():
        votes = {"one for each criterion": "the vote; also of a judgment that abstained"}
        found = []
        for column in columns:
            said = votes.get(column) or meaning(name, column)
            if said is None:
                raise LookupError(f"{name}: records/columns.py does not say what {column!r} means")
            found.append((column if column in votes else f"`{column}`", said))
        parts.append(f"## {name}\n\nA row is {row}.\n\n{_table(('column', 'meaning'), found)}")
        if rest:
            parts.append(f"{_cell(rest)}\n")
    return "\n".join(parts)


# Commands ----------------------------------------------------------------------------------------


def _commands(command: click.Command, context: click.Context) -> Iterator[click.Context]:
    """The command, and all below it, in the order of `--help`."""
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                below = click.Context(inner, info_name=name, parent=context)
                yield from _commands(inner, below)


def _help_of(command: click.Command) -> str:
    """The help text; what its author has set line by line stays so."""
    found = []
    for part in inspect.cleandoc(command.help or "").split("\n\n"):
        if part.startswith("\b"):
            found.append(f"```text\n{part[1:].strip(chr(10))}\n```")
        else:
            found.append(_prose(part))
    return "\n\n".join(found)


def commands_page() -> str:
    """Every command with its arguments and options, as `--help` has them."""
    from areopagus.cli.main import cli

    parts = ["# Commands\n", "Made from the command line itself: `areopagus COMMAND --help`.\n"]
    for context in _commands(cli, click.Context(cli, info_name="areopagus")):
        command = context.command
        level = "##" if context.parent is None or context.parent.parent is None else "###"
        usage = " ".join(command.collect_usage_pieces(context))
        parts.append(f"{level} {context.command_path}\n")
        parts.append(f"```text\n{context.command_path} {usage}\n```\n")
        parts.append(_help_of(command) + "\n")
        records = [
            record
            for parameter in command.get_params(context)
            if isinstance(parameter, click.Option)
            and (record := parameter.get_help_record(context)) is not None
        ]
        if records:
            rows = [(f"`{flags}`", _prose(said)) for flags, said in records]
            parts.append(_table(("option", "meaning"), rows))
    return "\n".join(parts)


# Fields ------------------------------------------------------------------------------------------


def _models() -> list[tuple[str, str, type[BaseModel]]]:
    from areopagus.attacks.families import AttackFamily
    from areopagus.audits.definition import Definition
    from areopagus.audits.languages import Language
    from areopagus.graphs.framings import Framing
    from areopagus.judges.templates import JudgeTemplate
    from areopagus.personas import Persona
    from areopagus.rubrics import Rubric
    from areopagus.settings import PanelSettings

    return [
        ("panel.yaml", "Everything that makes a panel.", PanelSettings),
        ("A persona", "A file of a `--personas` folder.", Persona),
        ("A rubric", "What `--rubric` takes.", Rubric),
        ("A judge template", "What `--template` takes.", JudgeTemplate),
        ("A framing", "How the stress test puts a prompt.", Framing),
        ("audit.yaml", "An audit of your own, in its folder.", Definition),
        ("A language", "What `areopagus audit NAME --language` takes.", Language),
        ("An attack family", "A file of an injection corpus.", AttackFamily),
    ]


_LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} of them",
    "maxItems": "at most {} of them",
}


def _kind(schema: Mapping[str, Any]) -> str:
    """The type of a field in words."""
    if "$ref" in schema:
        return f"[{schema['$ref'].rpartition('/')[2]}]"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    for alternatives in ("anyOf", "oneOf", "allOf"):
        if alternatives in schema:
            kinds = [_kind(one) for one in schema[alternatives] if one.get("type") != "null"]
            return " or ".join(dict.fromkeys(kinds))
    kind = schema.get("type", "anything")
    if kind == "array":
        inner = schema.get("items")
        return f"list of {_kind(inner)}" if isinstance(inner, dict) else "list"
    if kind == "object":
        inner = schema.get("additionalProperties") or next(
            iter(schema.get("patternProperties", {}).values()), None
        )
        return f"mapping to {_kind(inner)}" if isinstance(inner, dict) else "mapping"
    return {"string": "text", "integer": "whole number", "boolean": "true or false"}.get(
        kind
    ) or kind


def _limits(schema: Mapping[str, Any]) -> list[str]:
    found = [
        said.format(schema[name])
        for name, said in _LIMITS.items()
        if name in schema and not (schema[name] == 1 and name.startswith("minLength"))
    ]
    for one in schema.get("anyOf", ()):
        found += _limits(one)
    return found


def _field_rows(schema: Mapping[str, Any], anchor: Mapping[str, str]) -> list[tuple[str, str, str]]:
    rows = []
    for name, field in schema.get("properties", {}).items():
        said = [field["description"].rstrip(".")] if field.get("description") else []
        said += _limits(field)
        default = "required" if name in schema.get("required", ()) else ""
        if not default and field.get("default") not in (None, "", [], {}):
            default = f"`{field['default']}`".replace("True", "true").replace("False", "false")
        kind = re.sub(
            r"\[(\w+)\]",
            lambda one: f"[{one[1]}](#{anchor[one[1]]})" if one[1] in anchor else one[1],
            _kind(field),
        )
        rows.append((f"`{name}`", kind, default, _prose("; ".join(said))))
    return rows


def fields_page() -> str:
    """Every field of the YAML files that people write."""
    parts = ["# Fields of the YAML files\n"]
    parts.append(
        "Made from the models that read the files. A field that is not listed is refused.\n"
    )
    heads = ("field", "value", "default", "meaning")
    seen: set[str] = set()
    for title, about, model in _models():
        schema = model.model_json_schema()
        inner = {name: one for name, one in schema.get("$defs", {}).items() if "properties" in one}
        plain = {name: one for name, one in schema.get("$defs", {}).items() if name not in inner}
        schema = _resolved(schema, plain)
        anchor = {name: name.lower() for name in inner}
        parts.append(f"## {title}\n\n{about}\n")
        parts.append(_table(heads, _field_rows(schema, anchor)))
        for name, one in inner.items():
            if name in seen:
                continue
            seen.add(name)
            said = _prose(one.get("description", "").split("\n\n")[0])
            parts.append(f"### {name}\n\n{said}\n")
            parts.append(_table(heads, _field_rows(_resolved(one, plain), anchor)))
    return "\n".join(parts)


def _resolved(schema: Any, plain: Mapping[str, Any]) -> Any:
    """The schema with references to what has no fields put in their places."""
    if isinstance(schema, dict):
        name = str(schema.get("$ref", "")).rpartition("/")[2]
        if name in plain:
            return _resolved(
                {**plain[name], **{k: v for k, v in schema.items() if k != "$ref"}}, plain
            )
        return {key: _resolved(one, plain) for key, one in schema.items() if key != "$defs"}
    if isinstance(schema, list):
        return [_resolved(one, plain) for one in schema]
    return schema


# Python ------------------------------------------------------------------------------------------

_SECTION = re.compile(
    r"^(Args|Options|Returns|Raises|Yields|Attributes|Source|Example|Examples):(.*)$"
)


def _docstring(text: str | None) -> str:
    """A Google docstring as Markdown: sections with a bold head, named entries as a list."""
    found: list[str] = []
    paragraph: list[str] = []
    section = ""
    lines = inspect.cleandoc(text or "").splitlines()

    def close() -> None:
        if not paragraph:
            return
        block = "\n".join(paragraph)
        if section in ("Args", "Options", "Raises", "Attributes"):
            found.append(_entries(textwrap.dedent(block)))
        elif block.startswith("    ") and not section:
            found.append(f"```text\n{textwrap.dedent(block)}\n```")
        else:
            found.append(_prose(textwrap.dedent(block)))
        paragraph.clear()

    for line in lines:
        head = _SECTION.match(line)
        if head:
            close()
            section = head[1]
            found.append(f"**{section}**")
            if head[2].strip():
                paragraph.append(head[2].strip())
        elif not line.strip():
            close()
        else:
            if section and not line.startswith(" ") and head is None and not paragraph:
                section = ""
            paragraph.append(line)
    close()
    return "\n\n".join(found) + "\n"


def _entries(block: str) -> str:
    """`name: text` entries, each with lines below it, as a list."""
    found: list[str] = []
    for line in block.splitlines():
        entry = re.match(r"^([\w*`][\w ,*.`]*?): +(.*)$", line)
        if entry and not line.startswith(" "):
            found.append(f"- `{entry[1].strip('`')}`: {_prose(entry[2])}")
        elif found:
            found[-1] += f" {_prose(line.strip())}"
        else:
            found.append(_prose(line.strip()))
    return "\n".join(found)


def _signature(name: str, called: Any, *, bound: bool = False) -> str:
    """The call as the source has it, one argument a line where it is long."""
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError):
        return name
    given = list(_opened(called, list(signature.parameters.values())[1 if bound else 0 :]))
    arguments: list[str] = []
    for one in given:
        keyword_only = one.kind is one.KEYWORD_ONLY
        if keyword_only and "*" not in arguments and not any(a.startswith("*") for a in arguments):
            arguments.append("*")
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        has_type = one.annotation is not one.empty
        text = f"{stars}{one.name}" + (f": {_type(one.annotation)}" if has_type else "")
        if one.default is not one.empty:
            text += f"{' = ' if has_type else '='}{_default(one.default)}"
        arguments.append(text)
    ends = signature.return_annotation
    tail = "" if ends is signature.empty or inspect.isclass(called) else f" -> {_type(ends)}"
    line = f"{name}({', '.join(arguments)}){tail}"
    if len(line) <= 88:
        return line
    return f"{name}(\n{''.join(f'    {one},{chr(10)}' for one in arguments)}){tail}"


def _opened(called: Any, given: Sequence[inspect.Parameter]) -> Iterator[inspect.Parameter]:
    """The parameters, `**options: Unpack[Options]` as the options that it stands for."""
    known = getattr(inspect.unwrap(called), "__globals__", {})
    for one in given:
        packed = re.fullmatch(r"Unpack\[(\w+)\]", str(one.annotation))
        options = known.get(packed[1]) if packed else None
        if options is None:
            yield one
            continue
        for name, kind in options.__annotations__.items():
            text = getattr(kind, "__forward_arg__", kind)
            yield inspect.Parameter(name, one.KEYWORD_ONLY, default=..., annotation=text)


def _type(annotation: Any) -> str:
    """A type by its own name, without the module that it stands in."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Za-z])", "", text)


def _default(value: Any) -> str:
    text = repr(value)
    return "…" if value is ... or text[:1] == "<" or len(text) > 60 else text


def _entry(name: str, value: Any, level: int) -> str:
    """A class or function, and the public members of a class."""
    mark = "#" * level
    if inspect.isclass(value):
        parts = [f"{mark} {name}\n"]
        if issubclass(value, BaseModel):
            parts.append(f"```python\nclass {name}\n```\n")
        else:
            parts.append(f"```python\nclass {_signature(name, value)}\n```\n")
        parts.append(_docstring(value.__doc__))
        init = value.__dict__.get("__init__")
        if inspect.isfunction(init) and init.__doc__ and not issubclass(value, BaseModel):
            parts.append(_docstring(init.__doc__))
        if issubclass(value, BaseModel):
            schema = value.model_json_schema()
            plain = {
                k: one for k, one in schema.get("$defs", {}).items() if "properties" not in one
            }
            rows = _field_rows(_resolved(schema, plain), {})
            parts.append(_table(("field", "value", "default", "meaning"), rows))
        for member, found in _members(value):
            parts.append(f"{mark}# {name}.{member}\n")
            if isinstance(found, property) or hasattr(found, "func"):
                getter = found.fget if isinstance(found, property) else found.func
                parts.append(_docstring(getter.__doc__))
            else:
                called = inspect.unwrap(getattr(value, member))
                is_bound = not isinstance(inspect.getattr_static(value, member), staticmethod)
                is_class = isinstance(inspect.getattr_static(value, member), classmethod)
                shown = _signature(member, getattr(value, member), bound=is_bound and not is_class)
                parts.append(f"```python\n{shown}\n```\n")
                parts.append(_docstring(called.__doc__))
        return "\n".join(parts)
    if callable(value):
        parts = [f"{mark} {name}\n", f"```python\n{_signature(name, value)}\n```\n"]
        return "\n".join([*parts, _docstring(inspect.getdoc(value))])
    return f"{mark} {name}\n\n`{_cell(repr(value))[:200]}`\n"


def _members(value: type) -> Iterator[tuple[str, Any]]:
    """Documented public members that the class or a class of this package defines."""
    seen: set[str] = set()
    for base in value.__mro__:
        if not base.__module__.startswith("areopagus"):
            continue
        for name, found in vars(base).items():
            if name.startswith("_") or name in seen or _is_twin(name, value):
                continue
            plain = getattr(found, "__func__", found)
            getter = getattr(found, "fget", None) or getattr(found, "func", None)
            if (inspect.isfunction(plain) or getter) and (getter or plain).__doc__:
                seen.add(name)
                yield name, found


def _module(name: str, level: int = 2) -> str:
    """What a package names in `__all__`."""
    module = importlib.import_module(name)
    found = {one: getattr(module, one) for one in module.__all__ if not _is_twin(one, module)}
    called = {one: value for one, value in found.items() if callable(value)}
    # First what one begins with, then functions, then the other classes.
    names = sorted(called, key=lambda one: (one not in _FIRST, inspect.isclass(called[one]), one))
    return "\n".join(_entry(one, called[one], level) for one in names)


_FIRST = ("Panel", "Run")


def _is_twin(name: str, owner: Any) -> bool:
    """Whether this is the asynchronous form of another: `ascore` of `score`."""
    return name.startswith("a") and callable(getattr(owner, name[1:], None)) and len(name) > 2


def python_page() -> str:
    """The public face: what `import areopagus` gives."""
    about = (
        "# Python\n\nWhat `import areopagus` gives, made from the docstrings. "
        "Calls that ask models have an asynchronous twin, `await ascore(…)` for `score(…)`, which "
        "takes the same arguments; it is not listed again.\n"
    )
    testing = (
        "## For tests of your own code\n\n`areopagus.testing` has a scripted judge, and a provider "
        "on loopback.\n"
    )
    return "\n".join([about, _module("areopagus"), testing, _module("areopagus.testing", 3)])


def estimators_page() -> str:
    """`areopagus.aggregation`."""
    about = (
        "# Estimators\n\n`areopagus.aggregation`: arrays in, an `Estimate` or a number out. "
        "Made from the docstrings, which name formula and source.\n"
    )
    return "\n".join([about, _module("areopagus.aggregation")])


if __name__ == "__main__":
    COLUMNS_PAGE.write_text(columns_page(), encoding="utf-8")
