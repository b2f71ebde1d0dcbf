"""Reads the members of a tar archive. Python's `tarfile` has no bound for the memory that headers need."""

from collections.abc import Iterator

from steelyard.importing.streams import LARGEST, OVERHEAD, Allowance, Content, Item, Stream, Unread

BLOCK = 512  # bytes: of a header, and what the size of a member is rounded up to
_LONGEST = 1 << 20  # bytes of an extended header
_FOLDER, _EMPTY = b"5", (b"1", b"2", b"3", b"4", b"6")  # kinds of members: links, devices and pipes have no content


def read_members(name: str, stream: Stream, allowance: Allowance, too_large: str) -> Iterator[Item]:
    """Yields the members, named after the archive. ValueError for a damaged archive."""
    given: dict[str, str] = {}  # by an extended header, for the next member
    while (header := stream.read(BLOCK)).strip(b"\0") or not header:
        if not header:
            raise ValueError("its end is missing")
        if not is_header(header):
            raise ValueError("a header is not valid")
        allowance.spend(OVERHEAD)
        size, kind = _number(header[124:136]), header[156:157]
        if kind in (b"L", b"K", b"x", b"g"):
            given |= _extended(kind, stream, size)
            continue
        if given.get("size", "").isdigit():
            size = int(given["size"][:20])
        inside = f"{name}/{(given.get('path') or _name(header)).removeprefix('./')}"
        given = {}
        size = 0 if kind in _EMPTY else size
        if kind in (b"0", b"\0", b"7") and size <= LARGEST:
            data = stream.read(size)
            if len(data) < size:
                raise ValueError(f"it ends within '{inside.rpartition('/')[2]}'")
            yield Content(inside, data)
        else:
            stream.skip(size)
            if kind != _FOLDER:
                yield Unread(inside, too_large if size > LARGEST else "it is not an ordinary file")
        stream.skip(-size % BLOCK)


def is_header(block: bytes) -> bool:
    """Returns whether the block has the check sum of a header of tar."""
    try:
        sums = sum(block[:148]) + sum(block[156:]) + 8 * ord(" ")
        return len(block) == BLOCK and block[0] != 0 and _number(block[148:156]) == sums
    except ValueError:
        return False


def _extended(kind: bytes, stream: Stream, size: int) -> dict[str, str]:
    """Returns the path and the size that an extended header gives: GNU's long name, or the records of POSIX."""
    if size > _LONGEST:
        raise ValueError("an extended header is too long")
    text = stream.read(size)
    stream.skip(-size % BLOCK)
    if kind == b"L":
        return {"path": _decoded(text)}
    given = {}
    while kind == b"x" and (digits := text.partition(b" ")[0][:8]).isdigit() and 0 < int(digits) <= len(text):
        record, text = text[: int(digits)], text[int(digits) :]
        key, _, value = record[len(digits) + 1 : -1].partition(b"=")
        if key in (b"path", b"size"):
            given[key.decode()] = _decoded(value)
    return given


def _name(header: bytes) -> str:
    prefix = _decoded(header[345:500]) if header[257:263] == b"ustar\0" else ""
    return f"{prefix}/{_decoded(header[:100])}" if prefix else _decoded(header[:100])


def _decoded(name: bytes) -> str:
    return name.partition(b"\0")[0].decode("utf-8", "replace")


def _number(field: bytes) -> int:
    """Returns the number of a header: octal digits, or big-endian binary if the first bit is set. ValueError."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    return int(field.strip(b"\0 ") or b"0", 8)
