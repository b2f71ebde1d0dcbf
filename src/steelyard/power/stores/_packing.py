"""Columns of numbers as compressed bytes: what a part of the readings and a row of rollups hold in the embedded store.

Of each column there are differences, and bytes of the same weight lie side by side: both compress better so. Real numbers that
all have few decimal places, as most sensors give them, are whole numbers of the last place.
"""

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST = 64 << 20  # bytes of columns that are read back; a part has 1 MiB, a row of rollups 200 KiB
FAST, SMALL = 1, 6  # levels of zlib
WIDTH = 8  # bytes of each number
PLACES = 7  # decimal places that are looked for, up to 6
WHOLE, REAL = 254, 255  # instead of a number of places: whole numbers; real ones as they are
EXACT = 2.0**53  # a whole number below is exact as a real one

Column = NDArray[Any]


def pack(columns: Sequence[Column], level: int = FAST) -> bytes:
    """Returns columns of equal length as bytes; each has whole or real numbers of 64 bits."""
    forms = [_encode_whole_numbers(column) for column in columns]
    body = b"".join(_order_bytes(numbers) for _, numbers in forms)
    return bytes(form for form, _ in forms) + zlib.compress(body, level)


def unpack(body: bytes, columns: int) -> list[Column]:
    """Returns the columns from the bytes of `pack`. ValueError for other bytes."""
    opened = zlib.decompressobj()
    try:
        raw = opened.decompress(body[columns:], LARGEST)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not opened.eof or len(raw) % (WIDTH * columns):
        raise ValueError("its length is wrong")
    planes = np.frombuffer(raw, np.uint8).reshape(columns, WIDTH, -1).transpose(0, 2, 1)
    signed = np.ascontiguousarray(planes).reshape(columns, -1).view("<i8")
    numbers = np.cumsum((signed >> 1 & (1 << 63) - 1) ^ -(signed & 1), axis=1)
    return [_read_column(form, column) for form, column in zip(body[:columns], numbers, strict=True)]


def _encode_whole_numbers(column: Column) -> tuple[int, Column]:
    """Returns the encoding of these numbers as whole numbers, and the whole numbers."""
    if column.dtype.kind != "f":
        return WHOLE, column.astype("<i8", copy=False)
    bits = column.astype("<f8", copy=False).view("<i8")
    if (np.abs(column) < EXACT / 10.0 ** (PLACES - 1)).all():
        for places in range(PLACES):
            numbers = np.rint(column * 10.0**places).astype("<i8")
            if ((numbers / 10.0**places).view("<i8") == bits).all():
                return places, numbers
    return REAL, bits


def _read_column(form: int, numbers: Column) -> Column:
    if form == REAL:
        return numbers.view("<f8")
    if form == WHOLE:
        return numbers
    if form >= PLACES:
        raise ValueError(f"the encoding {form} of its numbers is unknown")
    return numbers / 10.0**form


def _order_bytes(numbers: Column) -> bytes:
    """The lowest byte of each difference, then the next one of each. The lowest bit is the sign: so small ones begin with 0."""
    steps = np.diff(numbers, prepend=np.int64(0))
    return (steps << 1 ^ steps >> 63).view(np.uint8).reshape(-1, WIDTH).T.tobytes()
