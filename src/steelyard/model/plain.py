"""Dataclasses to plain data (what JSON can say) and back, checked to the last field by their annotations alone."""

import re
from array import array
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from steelyard.errors import ACTING
from steelyard.model import Scalar

T = TypeVar("T")

# What acts on a terminal, or is no character.
_CONTROL = re.compile(f"[\ud800-\udfff{ACTING}]")
# Where none of these stands, JSON holds no such character, as it is or written out: most of it need not be searched by text.
_SUSPECT = re.compile(
    rb"\\[bfr]|\\u(?:00[01789]|20|[dD][89abcdefABCDEF])"
    rb"|\x7f|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]"
)


def scalar(text: str) -> Scalar:
    """The text as a whole number, a number, or itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def to_plain(value: Any) -> Any:
    """Dictionaries, lists and scalars. Values that are not finite become None: JSON has no NaN."""
    return msgspec.json.decode(to_json(value))


def to_json(value: Any) -> bytes:
    """In one line of JSON."""
    try:
        return msgspec.json.encode(value, enc_hook=other)
    except UnicodeEncodeError:  # a word of a command line that is no UTF-8
        return msgspec.json.encode(visible(msgspec.to_builtins(value, enc_hook=other)))


def other(value: Any) -> Any:
    """Converts types that msgspec does not know: other mappings to dictionaries, numbers of NumPy to numbers."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, array):
        return value.tolist()
    return value.item()  # NumPy's numbers


def suspect(text: bytes) -> bool:
    """Whether JSON may hold a character that acts on a terminal; most text is plain enough to tell at once."""
    plain = text.isascii() and b"\\" not in text and b"\x7f" not in text
    return not plain and _SUSPECT.search(text) is not None


def from_json(text: bytes) -> Any:
    """Plain data, with control characters in texts made visible. ValueError where it is no JSON."""
    try:
        found = msgspec.json.decode(text)
        return visible(found) if suspect(text) else found
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def visible(value: Any) -> Any:
    """Plain data in which no text can act on a terminal: an escape character reads '\\x1b'."""
    if isinstance(value, str):
        return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), value)
    if isinstance(value, dict):
        return {visible(key): visible(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [visible(item) for item in value]
    return value


def from_plain(kind: type[T], data: Any) -> T:
    """An instance of the dataclass `kind`. Raises ValueError, naming the field, where `data` is not of its shape."""
    try:
        return msgspec.convert(data, kind)
    except (msgspec.ValidationError, RecursionError, OverflowError) as error:
        raise ValueError(f"{kind.__name__}: {error}") from None
