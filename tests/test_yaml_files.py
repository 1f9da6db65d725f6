"""The loader of the YAML files that people extend: what it reads, refuses, and says."""

import hashlib
import os
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from areopagus import audits, personas, rubrics
from areopagus.errors import InputError
from areopagus.schemas import schema_files
from areopagus.yaml_files import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_NODES,
    document_hash,
    parse_yaml,
    read_document,
    read_documents,
    resolve_plain,
    schema_text,
)


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    weight: float = Field(default=1.0, gt=0)


class Thing(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    count: int = 0
    flag: bool = False
    words: tuple[str, ...] = ()
    notes: Mapping[str, str] = Field(default_factory=dict)
    parts: tuple[Part, ...] = ()


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("AREOPAGUS_HOME", str(tmp_path_factory.mktemp("home")))


@pytest.fixture
def write(tmp_path):
    def _write(content: str | bytes, name: str = "thing.yaml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return _write


def faults_of(path: Path, model: type[BaseModel] = Thing) -> list[str]:
    """The faults, with the file's folder taken off."""
    with pytest.raises(InputError) as caught:
        read_document(path, model, kind="thing")
    return [str(fault).removeprefix(f"{path.parent}{os.sep}") for fault in caught.value.faults]


def plain(text: str):
    root, faults = parse_yaml(text, path="x")
    assert not faults
    assert root is not None
    return root.plain()


# What is read


def test_a_file_is_read_into_its_model(write):
    path = write(
        "# a comment\nid: thing\ncount: 3\nflag: true\nwords: [a, 'b']\n"
        "notes: {no: one}\nparts:\n  - {name: p, weight: 2}\n"
    )
    assert read_document(path, Thing, kind="thing") == Thing(
        id="thing",
        count=3,
        flag=True,
        words=("a", "b"),
        notes={"no": "one"},
        parts=(Part(name="p", weight=2.0),),
    )


@pytest.mark.parametrize(
    ("written", "value"),
    [
        # Safe loaders of YAML 1.1 give False, False, True, True for the first four.
        ("no", "no"),
        ("off", "off"),
        ("yes", "yes"),
        ("On", "On"),
        ("012", "012"),  # 10 there, as octal
        ("0x1f", "0x1f"),
        ("0o17", "0o17"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),  # 90 there, in base sixty
        ("2024-01-31", "2024-01-31"),  # a date there
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("1e999", "1e999"),
        ("9" * 30, "9" * 30),
        ("=", "="),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("", None),
        ("null", None),
        ("7", 7),
        ("-3", -3),
        ("0", 0),
        ("1.50", 1.5),
        (".5", 0.5),
        ("2e3", 2000.0),
    ],
)
def test_unquoted_scalars_mean_what_yaml_1_2_says_and_never_a_date_or_an_octal(written, value):
    assert resolve_plain(written) == value
    assert type(resolve_plain(written)) is type(value)
    assert plain(f"key: {written}\n") == {"key": value}


def test_quoted_scalars_and_blocks_are_text():
    assert plain("a: '7'\nb: \"true\"\nc: |\n  no\nd: >-\n  one\n  two\n") == {
        "a": "7",
        "b": "true",
        "c": "no\n",
        "d": "one two",
    }


def test_keys_are_text_as_in_json():
    assert plain("{1: a, true: b, no: c, '<<': d}") == {"1": "a", "true": "b", "no": "c", "<<": "d"}


def test_a_byte_order_mark_is_not_content(write):
    assert read_document(write(b"\xef\xbb\xbfid: thing\n"), Thing, kind="thing").id == "thing"


# The traps


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("id: thing\nid: other\n", "thing.yaml:2: id: given twice (first in line 1)"),
        (
            "id: thing\nnotes:\n  a: x\n  b: y\n  'a': z\n",
            "thing.yaml:5: a: given twice (first in line 3)",
        ),
        ("id: &x thing\n", "thing.yaml:1: anchors are not allowed, got &x"),
        (
            "id: thing\nwords: [*x]\n",
            "thing.yaml:2: aliases are not allowed, got *x: write it out",
        ),
        (
            "id: thing\nnotes:\n  <<: {a: b}\n",
            "thing.yaml:3: merge keys are not allowed, got <<: write the fields out",
        ),
        (
            "id: thing\nwords: !!python/object/apply:os.system [echo]\n",
            "thing.yaml:2: tags are not allowed, got 'tag:yaml.org,2002:python/object/apply:os.sys",
        ),
        ("id: thing\ncount: !!int '3'\n", "tags are not allowed, got 'tag:yaml.org,2002:int'"),
        ("id: thing\ncount: ! 3\n", "thing.yaml:2: tags are not allowed, got '!'"),
        ("id: thing\n---\nid: thing\n", "thing.yaml:2: must be one document"),
        ("id: thing\n? [a]\n: b\n", "thing.yaml:2: a key must be a word, got a list or mapping"),
        ("id: thing\n'': b\n", "thing.yaml:2: a key must be a word, got nothing"),
        ('id: thing\nwords: ["\\0"]\n', "thing.yaml:2: must not contain the control character"),
        ('id: thing\nwords: ["\\ud800"]\n', "control character U+D800"),
        ('id: thing\nwords: ["\\UFFFFFFFF"]\n', "thing.yaml:2: is not YAML"),
        ("id: thing\nwords: [a\n", "is not YAML: expected ',' or ']'"),
        ("id: thing\n\twords: [a]\n", "thing.yaml:2: is not YAML: found character"),
        ("id: thing\nwords: ['\x1b[31m']\n", "thing.yaml:2: must not contain the character U+001B"),
        ("", "thing.yaml:1: must hold one mapping of fields, got an empty file"),
        ("# nothing but this\n", "must hold one mapping of fields, got an empty file"),
        ("- id: thing\n", "thing.yaml:1: must be a mapping of fields, got a list of 1"),
        ("thing\n", "thing.yaml:1: must be a mapping of fields, got 'thing'"),
    ],
)
def test_what_yaml_would_let_through_is_refused_with_its_line(write, text, fault):
    faults = faults_of(write(text))
    assert any(fault in found for found in faults), faults


def test_a_refused_value_is_named_once_and_nothing_below_it(write):
    assert faults_of(write("id: thing\nparts: !x\n  - {nam: 3}\n")) == [
        "thing.yaml:2: tags are not allowed, got '!x'"
    ]


def test_an_alias_bomb_is_refused_before_anything_grows(write):
    names = "abcdefghi"
    lines = [f"{names[0]}: &{names[0]} [x, x, x, x, x, x, x, x, x]"]
    for before, name in pairwise(names):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]")
    started = time.perf_counter()
    faults = faults_of(write("\n".join(lines)))
    assert any("aliases are not allowed" in fault for fault in faults)
    assert time.perf_counter() - started < 2


def test_a_value_that_contains_itself_is_refused(write):
    assert "thing.yaml:2: aliases are not allowed, got *w: write it out" in faults_of(
        write("id: thing\nwords: &w [*w]\n")
    )


@pytest.mark.parametrize(
    "text",
    ["[" * 5000, "{a: " * 5000, "".join(" " * i + "a:\n" for i in range(600)), "- " * 5000],
)
def test_deep_nesting_is_a_fault_and_not_a_recursion_error(write, text):
    assert faults_of(write(text))[0].endswith(f"must nest at most {MAX_DEPTH} levels deep")


def test_nesting_up_to_the_limit_is_read():
    assert plain("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert parse_yaml("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), path="x")[0] is None


def test_too_many_values_and_too_many_bytes_are_refused(write):
    many = "words: [" + "x," * (MAX_NODES + 1) + "]\n"
    assert faults_of(write(many)) == [f"thing.yaml:1: must hold at most {MAX_NODES} values"]
    assert faults_of(write("#" * (MAX_BYTES + 1))) == ["thing.yaml: must be at most 256 KiB"]
    assert read_document(write("id: thing\n".ljust(MAX_BYTES, "#")), Thing, kind="thing")


def test_only_utf_8_is_read_and_the_line_of_the_first_other_byte_is_named(write):
    assert faults_of(write("id: thing\nwords: [café]\n".encode("latin-1"))) == [
        "thing.yaml:2: must be UTF-8 text, got the byte 0xe9"
    ]
    assert "must be UTF-8 text" in faults_of(write("id: thing\n".encode("utf-16")))[0]


def test_what_is_not_a_file_is_said_and_a_pipe_is_not_waited_for(tmp_path):
    assert faults_of(tmp_path / "none.yaml") == ["none.yaml: is not there; it must be a thing file"]
    (tmp_path / "folder.yaml").mkdir()
    assert faults_of(tmp_path / "folder.yaml") == [
        "folder.yaml: must be a thing file, got a folder"
    ]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.yaml")
        assert "must be a thing file" in faults_of(tmp_path / "pipe.yaml")[0]


# The faults of content


def test_every_fault_of_a_file_comes_at_once_with_line_field_and_what_was_got(write):
    text = """\
id: other
cuont: 3
count: '7'
flag: 1
words:
  - fine
  - 1.10
  - no
parts:
  - name: a
    weight: -1

  - wieght: 2
  - just text
notes:
  a: 2024-01-31
  b: [x]
count: 8
"""
    assert faults_of(write(text)) == [
        "thing.yaml:1: id: must be the file's name without its ending, 'thing', got 'other'",
        "thing.yaml:2: cuont: unknown field; did you mean count?",
        "thing.yaml:3: count: must be a whole number, got '7'",
        "thing.yaml:4: flag: must be true or false, got 1",
        'thing.yaml:7: words[1]: must be text, got 1.10 (put it in quotes: "1.10")',
        "thing.yaml:11: parts[0].weight: must be greater than 0, got -1",
        "thing.yaml:13: parts[1].name: must be given",
        "thing.yaml:13: parts[1].wieght: unknown field; did you mean weight?",
        "thing.yaml:14: parts[2]: must be a mapping of fields, got 'just text'",
        "thing.yaml:17: notes.b: must be text, got a list of 1",
        "thing.yaml:18: count: given twice (first in line 3)",
    ]


class Pair(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    parts: tuple[Part, ...] = Field(min_length=2)


def test_a_list_with_a_faulty_entry_is_not_called_too_short_as_well(write):
    whole = "parts:\n  - name: a\n  - nmae: b\n"
    assert faults_of(write(whole), Pair) == [
        "thing.yaml:3: parts[1].name: must be given",
        "thing.yaml:3: parts[1].nmae: unknown field; did you mean name?",
    ]
    short = "parts:\n  - nmae: b\n"
    assert faults_of(write(short), Pair) == [
        "thing.yaml:1: parts: must hold at least 2 entries, got a list of 1",
        "thing.yaml:2: parts[0].name: must be given",
        "thing.yaml:2: parts[0].nmae: unknown field; did you mean name?",
    ]


@pytest.mark.parametrize("value", ["'7'", "7.0", "true", "[7]", "012", "1:30"])
def test_only_a_whole_number_is_a_whole_number(write, value):
    assert "count: must be a whole number" in faults_of(write(f"id: thing\ncount: {value}\n"))[0]


def test_an_unknown_field_unlike_any_other_lists_the_known_ones(write):
    assert faults_of(write("id: thing\nzzz: 1\n")) == [
        "thing.yaml:2: zzz: unknown field; known are id, count, flag, words, notes, parts"
    ]


def test_a_hostile_key_cannot_steer_the_terminal_that_shows_it(write):
    (fault,) = faults_of(write('id: thing\n"\u202eabc": 1\n'))
    assert "\u202e" not in fault
    assert "\\u202eabc: unknown field" in fault


def test_faults_of_several_files_come_together(write):
    paths = [write("id: x\n", "a.yaml"), write("id: b\n", "b.yaml"), write("count: x\n", "c.yaml")]
    with pytest.raises(InputError) as caught:
        read_documents(paths, Thing, kind="thing")
    assert [Path(fault.where).name for fault in caught.value.faults] == [
        "a.yaml:1",
        "c.yaml:1",
        "c.yaml:1",
    ]


def assert_read_or_refused(path: Path) -> None:
    faults = None
    thing = None
    try:
        thing = read_document(path, Thing, kind="thing")
    except InputError as error:
        faults = error.faults
    assert (thing is None) == (faults is not None)
    if faults is not None:
        assert all(fault.where and fault.message for fault in faults)
        # However long a name in the file is, the message about it stays readable.
        assert all(len(str(fault)) < 1000 + len(str(path)) for fault in faults)


def test_messages_stay_short_and_on_one_line_whatever_the_file_names(write):
    long = "a" * 50_000
    for text in (f"!{long} x", f"&{long} x", f"{long}: 1\n", f"id: {long}\n", f"[*{long}]",
                 f"{{? {long}: 1, ? {long}: 2}}", f"'{long}': 1"):  # fmt: skip
        for fault in faults_of(write(text)):
            assert len(fault) < 500
            assert fault.isprintable()


yaml_like = st.lists(
    st.sampled_from(
        ["id: ", "thing", "count", ": ", "- ", "\n", "\n  ", "[", "]", "{", "}", ",", "&a ", "*a",
         "!!int ", "!x ", "<<", "? ", "'", '"', "\\", "|", ">-", "#", "---", "...", "%YAML 1.1\n",
         "%TAG ! x\n", "~", "7", "0.5", "no", "\t", "é", "\u2028", "\x00", "\ud800", "\\U00110000"]
    ),
    max_size=40,
).map("".join)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.one_of(yaml_like, st.text(max_size=60)))
@example("%YAML " + "9" * 5000 + ".1\n---\n")
@example("!<%ff> x")
@example('"\\U00110000"')
@example("? ? ? x")
def test_any_text_is_read_or_refused_and_nothing_else(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "thing.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert_read_or_refused(path)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused_and_nothing_else(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "thing.yaml"
    path.write_bytes(content)
    assert_read_or_refused(path)


# Hash and schema


def test_the_hash_is_of_the_content_in_canonical_json():
    canonical = b'{"id":"\xc3\xa9","words":["a"]}'
    assert document_hash(Thing(id="é", words=("a",))) == hashlib.sha256(canonical).hexdigest()


def test_the_hash_follows_the_content_and_not_the_layout(write):
    one = read_document(write("id: thing\nnotes: {a: x, b: y}\n"), Thing, kind="thing")
    two = read_document(
        write('# said otherwise\nnotes:\n  b: "y"\n  a: x\nid: thing\ncount: 0\n'),
        Thing,
        kind="thing",
    )
    assert document_hash(one) == document_hash(two)
    assert document_hash(one) != document_hash(two.model_copy(update={"count": 1}))


@pytest.mark.parametrize("path", schema_files(), ids=lambda path: path.name)
def test_the_committed_schemas_are_those_of_the_models(path):
    assert path.read_text(encoding="utf-8") == schema_files()[path], (
        "run python -m areopagus.schemas"
    )


@pytest.mark.parametrize("module", [personas, rubrics, audits], ids=lambda one: one.__name__)
def test_every_built_in_file_names_its_schema_in_the_first_line(module):
    files = sorted(Path(module.__file__).parent.rglob("*.yaml"))
    assert files
    schemas = {path.resolve() for path in schema_files()}
    for path in files:
        first = path.read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith("# yaml-language-server: $schema="), path
        assert (path.parent / first.partition("=")[2]).resolve() in schemas, path


def test_a_schema_names_every_field_and_forbids_others():
    text = schema_text(Thing)
    assert text.endswith("}\n")
    assert '"additionalProperties": false' in text
    assert all(f'"{name}"' in text for name in Thing.model_fields)


BUILT_IN = [*Path(__file__).parents[1].glob("*/**/*.yaml")]


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML was built without libyaml")
@pytest.mark.parametrize(
    "text",
    [
        *(path.read_text(encoding="utf-8") for path in BUILT_IN if "src" not in path.parts),
        "a: ~\nb: ''\nc: |\n  x\nd: [1, .5]\n",
        "a:\tb",
        "a: b\t",
        "a: 'b\nc: &x 1",
        "\ufeffa: b",
        "a: \x01",
    ],
    ids=lambda text: text[:12],
)
def test_a_file_reads_alike_with_and_without_libyaml(text: str, monkeypatch: pytest.MonkeyPatch):
    quick = parse_yaml(text, path="x.yaml")
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    assert quick == parse_yaml(text, path="x.yaml")


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML was built without libyaml")
def test_a_file_without_faults_is_read_by_libyaml(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(yaml, "SafeLoader", None)
    root, faults = parse_yaml("a: b", path="x.yaml")
    assert (root.plain(), faults) == ({"a": "b"}, [])
