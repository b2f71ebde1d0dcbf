"""Dataclasses to plain data (what JSON can say) and back, driven by their annotations alone."""

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from steelyard.model import Scalar

T = TypeVar("T")


def scalar(text: str) -> Scalar:
    """The text as a whole number, a number, or itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def to_plain(value: Any) -> Any:
    """Dictionaries, lists and scalars. What is not finite becomes None: JSON has no NaN."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): to_plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def from_plain(kind: type[T], data: Any) -> T:
    """An instance of the dataclass `kind`. Raises ValueError, naming the field, where `data` is not of its shape."""
    if not isinstance(data, dict):
        raise ValueError(f"{kind.__name__}: an object was expected, not {type(data).__name__}")
    hints = _hints(kind)  # type: ignore[arg-type]  # a class is hashable; the stubs know it not
    given: dict[str, Any] = {}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        if field.name in data:
            given[field.name] = _value(hints[field.name], data[field.name], f"{kind.__name__}.{field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise ValueError(f"{kind.__name__}.{field.name} is missing")
    return kind(**given)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _value(hint: Any, data: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or data is None:
        return _none(hint, where) if data is None else data
    if origin in (types.UnionType, typing.Union):
        options = [a for a in arguments if a is not type(None)]
        return _value(options[0], data, where) if len(options) == 1 else data
    if origin is tuple:
        if not isinstance(data, list):
            raise ValueError(f"{where}: a list was expected, not {type(data).__name__}")
        return tuple(_value(arguments[0], item, where) for item in data)
    if dataclasses.is_dataclass(hint):
        return from_plain(typing.cast(type, hint), data)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(data, dict):
            raise ValueError(f"{where}: an object was expected, not {type(data).__name__}")
        return {k: _value(arguments[1], v, where) for k, v in data.items()}
    return _scalar(hint, data, where)


def _none(hint: Any, where: str) -> None:
    if hint is not Any and type(None) not in typing.get_args(hint) and hint is not float:
        raise ValueError(f"{where} must not be null")


def _scalar(hint: Any, data: Any, where: str) -> Any:
    if typing.get_origin(hint) is typing.Literal:
        if data not in typing.get_args(hint):
            raise ValueError(f"{where}: '{data}' is none of {', '.join(map(str, typing.get_args(hint)))}")
        return data
    if hint is float and isinstance(data, (int, float)) and not isinstance(data, bool):
        return float(data)
    if isinstance(hint, type) and not isinstance(data, hint):
        raise ValueError(f"{where}: {hint.__name__} was expected, not {type(data).__name__}")
    return data
