"""Converts dataclasses to plain data for JSON and back. The annotations of all fields are checked."""

import re
from array import array
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from steelyard.errors import ACTING
from steelyard.model import Scalar

T = TypeVar("T")

# Characters that act on a terminal, and surrogates, which are not characters.
_CONTROL = re.compile(f"[\ud800-\udfff{ACTING}]")
# JSON without these byte sequences has no such character, neither directly nor escaped, and need not be searched further.
_SUSPECT = re.compile(
    rb"\\[bfr]|\\u(?:00[01789]|20|[dD][89abcdefABCDEF])"
    rb"|\x7f|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]"
)


def scalar(text: str) -> Scalar:
    """Returns the text as an integer, a float, or itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def to_plain(value: Any) -> Any:
    """Returns dictionaries, lists and scalars. Values that are not finite become None, since JSON has no NaN."""
    return msgspec.json.decode(to_json(value))


def to_json(value: Any) -> bytes:
    """Returns one line of JSON."""
    try:
        return msgspec.json.encode(value, enc_hook=other)
    except UnicodeEncodeError:  # a word of a command line that is not UTF-8
        return msgspec.json.encode(visible(msgspec.to_builtins(value, enc_hook=other)))


def to_msgpack(value: Any) -> bytes:
    """Returns the value in MessagePack. Bytes stay bytes."""
    try:
        return msgspec.msgpack.encode(value, enc_hook=other)
    except UnicodeEncodeError:  # a word of a command line that is not UTF-8
        return msgspec.msgpack.encode(visible(msgspec.to_builtins(value, builtin_types=(bytes,), enc_hook=other)))


def other(value: Any) -> Any:
    """Converts types that msgspec does not know: other mappings, arrays and numbers of NumPy."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, array):
        return value.tolist()
    for kind in (float, str):  # a number or a word that carries more, such as a verdict or its line
        if isinstance(value, kind):
            return kind(value)
    return value.item()  # NumPy's numbers


def suspect(text: bytes) -> bool:
    """Returns whether JSON may have a character that acts on a terminal. Most text is decided by fast tests."""
    plain = text.isascii() and b"\\" not in text and b"\x7f" not in text
    return not plain and _SUSPECT.search(text) is not None


def from_json(text: bytes) -> Any:
    """Returns plain data in which control characters are escaped. ValueError if the text is not JSON."""
    try:
        content = msgspec.json.decode(text)
        return visible(content) if suspect(text) else content
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def visible(value: Any) -> Any:
    """Returns plain data in which no text can act on a terminal: an escape character becomes '\\x1b'."""
    if isinstance(value, str):
        return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), value)
    if isinstance(value, dict):
        return {visible(key): visible(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [visible(item) for item in value]
    return value


def from_plain(kind: type[T], data: Any) -> T:
    """Returns an instance of the dataclass `kind`. Raises ValueError, which names the field, if `data` does not fit."""
    try:
        return msgspec.convert(data, kind)
    except (msgspec.ValidationError, RecursionError, OverflowError) as error:
        raise ValueError(f"{kind.__name__}: {error}") from None
