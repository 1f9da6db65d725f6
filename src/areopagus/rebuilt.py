"""Rebuilds dataclasses from the plain data (JSON) that their fields were written as."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def rebuilt(kind: type[T], plain: Any, *, given: Mapping[str, Any] | None = None) -> T:
    """A dataclass from an object that holds its fields; further keys are left alone.

    A null becomes nan where the field is a float, and stays None where it may be None.

    Args:
        kind: the dataclass; its fields may be dataclasses, tuples, mappings and plain values.
        plain: the object.
        given: fields of it that are taken from here as they are.

    Raises:
        ValueError: the object does not fit, with the place in it.
    """
    found: T = _object(kind, plain, "", given or {})
    return found


def _object(kind: Any, plain: Any, where: str, given: Mapping[str, Any]) -> Any:
    if not isinstance(plain, dict):
        raise _misfit(where, f"an object for {kind.__name__}", plain)
    hints = _hints(kind)
    values: dict[str, Any] = {}
    for one in fields(kind):
        if one.name in given:
            values[one.name] = given[one.name]
        elif one.name in plain:
            values[one.name] = _value(hints[one.name], plain[one.name], f"{where}.{one.name}")
        elif one.default is MISSING and one.default_factory is MISSING:
            raise _misfit(f"{where}.{one.name}", "a value", "nothing")
    return kind(**values)


def _value(kind: Any, plain: Any, where: str) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if plain is None and type(None) in inner:
            return None
        (kind,) = [one for one in inner if one is not type(None)][:1]
        return _value(kind, plain, where)
    if is_dataclass(kind):
        return _object(kind, plain, where, {})
    if origin is tuple:
        return _tuple(inner, plain, where)
    if isinstance(kind, type) and issubclass(kind, tuple):  # a NamedTuple
        return kind(*_tuple(tuple(_hints(kind).values()), plain, where))
    if origin is not None and _is_a(origin, Mapping):
        if not isinstance(plain, dict):
            raise _misfit(where, "an object", plain)
        of = inner[1]
        return {key: _value(of, value, f"{where}.{key}") for key, value in plain.items()}
    if kind is float:
        if plain is None:
            return math.nan
        if isinstance(plain, int | float) and not isinstance(plain, bool):
            return float(plain)
        raise _misfit(where, "a number", plain)
    if origin is Literal:
        if plain not in inner:
            raise _misfit(where, f"one of {inner}", plain)
    elif kind in (int, str, bool) and not isinstance(plain, kind):
        raise _misfit(where, f"a value of type {kind.__name__}", plain)
    return plain


def _tuple(inner: tuple[Any, ...], plain: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(plain, list):
        raise _misfit(where, "a list", plain)
    kinds = [inner[0]] * len(plain) if inner[-1] is Ellipsis else list(inner)
    if len(kinds) != len(plain):
        raise _misfit(where, f"{len(kinds)} items", plain)
    return tuple(
        _value(kind, one, f"{where}[{place}]")
        for place, (kind, one) in enumerate(zip(kinds, plain, strict=True))
    )


def _is_a(origin: Any, kind: type) -> bool:
    return isinstance(origin, type) and issubclass(origin, kind)


@lru_cache(maxsize=256)
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _misfit(where: str, wanted: str, got: Any) -> ValueError:
    return ValueError(f"{where.lstrip('.') or 'the whole'}: must be {wanted}, got {got!r:.80}")
