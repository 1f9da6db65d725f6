"""One YAML file as a tree of plain values with line numbers, and nothing else.

The file's events are read straight from the parser and no YAML constructor ever runs, so that
there is no type, tag, alias or merge to smuggle anything through, and each limit bites before a
value is built. What is read is close to YAML 1.2's JSON-like core:

    null        ~ or null, or nothing at all      true false     those two words only
    integer     7  -3  (not 012, 0x1f, 1_000)     number         1.5  2e3  (not .inf, .nan, 1:30)
    text        everything else: no, yes, on, 012, 1:30, 2024-01-31

Keys are always text, as in JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from .errors import InputFault

MAX_NODES = 10_000
"""Values (keys not counted) that one file may hold."""

MAX_DEPTH = 20
"""How deep lists and mappings may nest; a thousand open brackets overflow a recursive reader."""

MAX_INTEGER_DIGITS = 18

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]{1,4})?")
_WORDS: dict[str, bool | None] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}

# Escapes such as "\0", "\e" or "\ud800" put into a text what the file itself may not contain.
_UNWANTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")

SHOWN_CHARACTERS = 60
"""How much of a text a message shows."""

Scalar = str | int | float | bool | None


@dataclass(slots=True)
class Node:
    """A value and where it stands.

    Attributes:
        value: a scalar, or children in a dict or list.
        line: 1-based line of its key, or of itself for list items and the root.
        written: a scalar as it stands in the file, without quotes.
        is_void: it stands in for something that was refused; faults below it would only mislead.
    """

    value: Scalar | dict[str, Node] | list[Node]
    line: int
    written: str = ""
    is_void: bool = False

    def plain(self) -> Any:
        """The JSON-like value, without lines."""
        if isinstance(self.value, dict):
            return {key: child.plain() for key, child in self.value.items()}
        if isinstance(self.value, list):
            return [child.plain() for child in self.value]
        return self.value


def parse_yaml(text: str, *, path: str) -> tuple[Node | None, list[InputFault]]:
    """The root of the document and every fault of form found in it.

    Args:
        text: the content of one file.
        path: how faults name the file.

    Returns:
        The root is None when the text could not be read to its end (broken syntax, a limit passed,
        no document, several documents). Otherwise it is there even with faults, so that its content
        can be checked in the same round. Never raises for anything that `text` contains.
    """
    tree = _Tree(path)
    # ValueError and OverflowError: PyYAML hands escapes beyond U+10FFFF and endless version
    # numbers to chr() and int() unchecked.
    try:
        loader = yaml.SafeLoader(text)
    except yaml.reader.ReaderError as error:
        tree.add_fault(1 + text.count("\n", 0, error.position), _reader_message(error))
        return None, tree.faults
    try:
        for event in _events(loader):
            if not tree.take(event):
                return None, tree.faults
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        tree.add_fault(mark.line + 1 if mark else 1, f"is not YAML: {error.problem}")
        return None, tree.faults
    except (yaml.YAMLError, ValueError, OverflowError, IndexError, RecursionError) as error:
        tree.add_fault(loader.get_mark().line + 1, f"is not YAML: {error}")
        return None, tree.faults
    finally:
        loader.dispose()
    if tree.root is None:
        tree.add_fault(1, "must hold one mapping of fields, got an empty file")
    return tree.root, tree.faults


def printable(text: str) -> str:
    """The text for a message: cut when long, and with escapes for what would steer a terminal."""
    cut = text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in cut)


def resolve_plain(written: str) -> Scalar:
    """What an unquoted scalar means: None, a truth value, a number, or the text itself."""
    if written in _WORDS:
        return _WORDS[written]
    if _INTEGER.fullmatch(written):
        # Longer ones stay text and are refused by the model: int() of a long text is costly.
        return int(written) if len(written) <= MAX_INTEGER_DIGITS else written
    if _NUMBER.fullmatch(written) and len(written) <= 40:
        number = float(written)
        return number if abs(number) != float("inf") else written
    return written


def _events(loader: yaml.SafeLoader) -> Iterator[yaml.Event]:
    while loader.check_event():
        yield loader.get_event()  # type: ignore[no-untyped-call]  # untyped in the stubs


def _reader_message(error: yaml.reader.ReaderError) -> str:
    character = error.character
    shown = f"U+{character:04X}" if isinstance(character, int) else repr(character)
    return f"must not contain the character {shown}"


@dataclass(slots=True)
class _Frame:
    """A list or mapping that is still open, and the key that waits for its value."""

    node: Node
    key: str | None = None
    key_line: int = 0
    is_key_read: bool = False


@dataclass(slots=True)
class _Tree:
    """Builds the tree from events with a stack of its own: depth costs no recursion."""

    path: str
    root: Node | None = None
    faults: list[InputFault] = field(default_factory=list)
    _open: list[_Frame] = field(default_factory=list)
    _documents: int = 0
    _nodes: int = 0

    def add_fault(self, line: int, message: str, name: str | None = None) -> None:
        self.faults.append(InputFault(f"{self.path}:{line}", message, name))

    def take(self, event: yaml.Event) -> bool:
        """Whether to go on after this event."""
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self.add_fault(line, "must be one document, got a second one after '---'")
                return False
            return True
        if isinstance(event, yaml.CollectionEndEvent):
            self._open.pop()
            return True
        if not isinstance(event, yaml.NodeEvent):
            return True
        return self._take_node(event, line)

    def _take_node(self, event: yaml.NodeEvent, line: int) -> bool:
        frame = self._open[-1] if self._open else None
        is_key = frame is not None and isinstance(frame.node.value, dict) and not frame.is_key_read
        self._nodes += not is_key
        if self._nodes > MAX_NODES:
            self.add_fault(line, f"must hold at most {MAX_NODES} values")
            return False
        is_void = self._refuse_references(event, line)
        if isinstance(event, yaml.CollectionStartEvent):
            if len(self._open) >= MAX_DEPTH:
                self.add_fault(line, f"must nest at most {MAX_DEPTH} levels deep")
                return False
            is_list = isinstance(event, yaml.SequenceStartEvent)
            node = Node([] if is_list else {}, line, is_void=is_void)
            self._place(node, frame, is_key=is_key, is_merge=False)
            self._open.append(_Frame(node))
            return True
        node = Node(None, line, is_void=True)
        is_merge = False
        if isinstance(event, yaml.ScalarEvent):
            is_plain = event.style is None
            value = resolve_plain(event.value) if is_plain else event.value
            node = Node(value, line, event.value, is_void)
            is_merge = is_plain and event.value == "<<"
            if unwanted := _UNWANTED.search(event.value):
                node.is_void = True
                code = f"U+{ord(unwanted[0]):04X}"
                self.add_fault(line, f"must not contain the control character {code}")
        self._place(node, frame, is_key=is_key, is_merge=is_merge)
        return True

    def _refuse_references(self, event: yaml.NodeEvent, line: int) -> bool:
        if isinstance(event, yaml.AliasEvent):
            name = printable(event.anchor or "")
            self.add_fault(line, f"aliases are not allowed, got *{name}: write it out")
            return True
        if event.anchor is not None:
            self.add_fault(line, f"anchors are not allowed, got &{printable(event.anchor)}")
        tag = getattr(event, "tag", None)
        if tag is not None:
            self.add_fault(line, f"tags are not allowed, got {printable(tag)!r}")
        return tag is not None

    def _place(self, node: Node, frame: _Frame | None, *, is_key: bool, is_merge: bool) -> None:
        if frame is None:
            self.root = node
        elif isinstance(frame.node.value, list):
            frame.node.value.append(node)
        elif is_key:
            self._place_key(node, frame, is_merge=is_merge)
        elif isinstance(frame.node.value, dict):
            frame.is_key_read = False
            if frame.key is not None:
                node.line = frame.key_line
                frame.node.value[frame.key] = node

    def _place_key(self, node: Node, frame: _Frame, *, is_merge: bool) -> None:
        entries = frame.node.value
        frame.is_key_read, frame.key, frame.key_line = True, None, node.line
        if is_merge:
            self.add_fault(node.line, "merge keys are not allowed, got <<: write the fields out")
        elif isinstance(node.value, dict | list):
            self.add_fault(node.line, "a key must be a word, got a list or mapping")
        elif node.is_void:
            return  # said already, where it was refused
        elif not node.written:
            self.add_fault(node.line, "a key must be a word, got nothing")
        elif isinstance(entries, dict) and node.written in entries:
            first = entries[node.written].line
            self.add_fault(
                node.line, f"given twice (first in line {first})", printable(node.written)
            )
        else:
            frame.key = node.written
