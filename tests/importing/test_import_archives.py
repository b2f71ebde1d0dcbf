"""Archives are read in memory, within bounds, and a damaged one loses nothing that lies before the damage."""

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import tracemalloc
from collections.abc import Callable

import pytest

from import_fixture import tar, zipped
from steelyard.importing import archives, streams
from steelyard.importing.streams import Content, Unread

LONG = "folder/" * 30 + "file.txt"  # longer than the header of a tar archive allows


def unpacked(data: bytes) -> dict[str, bytes | str]:
    """The content of each file in the archive A, or the reason why it was not read."""
    found = archives.unpack("A", io.BytesIO(data))
    return {
        item.name: item.data if isinstance(item, Content) else item.reason if isinstance(item, Unread) else item.other
        for item in found
    }


FILES = {"a.txt": b"one\n", LONG: b"two\n" * 1000}
NAMED = {f"A/{name}": content for name, content in FILES.items()}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_the_members_of_a_tar_archive_keep_their_names(mode: str, form: int) -> None:
    assert unpacked(tar(FILES, mode, form)) == NAMED


def test_the_members_of_a_zip_archive_keep_their_names() -> None:
    assert unpacked(zipped(FILES)) == NAMED


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_single_packed_file_is_one_file(pack: Callable[[bytes], bytes]) -> None:
    assert unpacked(pack(b"text")) == {"A": b"text"}
    assert unpacked(pack(b"text") + pack(b" goes on")) == {"A": b"text goes on"}


def test_archives_lie_in_each_other_up_to_a_depth() -> None:
    inner = tar({"x": "1"})
    assert unpacked(zipped({"in.tar.gz": inner})) == {"A/in.tar.gz/x": b"1"}
    deep = tar({"b.tgz": tar({"a.tgz": inner})})
    assert unpacked(deep) == {"A/b.tgz/a.tgz": "it is an archive inside of too many others"}


@pytest.mark.parametrize("pack", [gzip.compress, lambda data: zipped({"x": data})])
def test_an_archive_that_unpacks_to_too_much_ends_with_a_reason(
    pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MOST", 1 << 20)
    monkeypatch.setattr(streams.Allowance.__init__, "__defaults__", (1 << 20,))
    assert unpacked(pack(bytes(1 << 22))) == {"A": archives.TOO_MUCH}


def test_a_member_that_is_too_large_is_skipped_and_the_next_one_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "LARGEST", 100)
    assert unpacked(tar({"large": bytes(101), "next": "x"})) == {"A/large": archives.TOO_LARGE, "A/next": b"x"}


def test_many_empty_members_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams.Allowance.__init__, "__defaults__", (100 * streams.OVERHEAD,))
    assert len(unpacked(tar({str(i): "" for i in range(300)}, "w"))) == 101


@pytest.mark.parametrize("pack", [lambda data: gzip.compress(data, 0), lambda data: data])
def test_an_incomplete_archive_keeps_what_lies_before_its_end(pack: Callable[[bytes], bytes]) -> None:
    whole = pack(tar({"a": "x" * 600, "b": "y" * 60_000}, "w"))
    found = unpacked(whole[:30_000])
    assert found["A/a"] == b"x" * 600
    assert str(found["A"]).startswith("it is damaged or incomplete")
    assert "A/b" not in found


def test_an_archive_without_an_end_says_so() -> None:
    whole = tar({"a": "x"}, "w")
    assert unpacked(whole[:1024]) == {"A/a": b"x", "A": "it is damaged or incomplete (its end is missing)"}


def test_a_negative_or_huge_size_in_a_header_is_refused() -> None:
    header = bytearray(tar({"a": "x", "b": "y"}, "w"))
    for size in (b"\xff" * 12, b"\x80" + b"\xff" * 11, b"-0000000001\0"):
        header[124:136] = size
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header[:512])
        assert "A/b" not in unpacked(bytes(header))


def extended(kind: bytes, content: bytes, size: int | None = None) -> bytes:
    """The header of a tar archive that extends the next one. It says that its content has `size` bytes."""
    member = tarfile.TarInfo("x")
    member.type, member.size = kind, len(content) if size is None else size
    return member.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % tarfile.BLOCKSIZE)


MEMBER = tar({"a": "x"}, "w")


@pytest.mark.parametrize("kind", [b"L", b"K", b"x", b"g"])
def test_an_extended_header_of_gigabytes_is_refused(kind: bytes) -> None:
    class Endless(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(size) or bytes(size or 0)

    tracemalloc.start()
    (item,) = archives.unpack("A", Endless(extended(kind, b"", 4 << 30)))
    assert item == Unread("A", "it is damaged or incomplete (a header is too long)")
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("kind", "content", "reason"),
    [
        (b"x", b"6 aaaa" * 2400 + b"=\n", archives.TOO_MUCH),  # each record of it ends at its end
        (b"g", b"6 aaaa" * 2400 + b"=\n", archives.TOO_MUCH),
        (b"x", b"7" * 9000, "it is damaged or incomplete (a header has too many digits)"),
    ],
)
def test_extended_headers_of_many_members_end_with_a_reason(
    kind: bytes, content: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams.Allowance.__init__, "__defaults__", (streams.MOST >> 6,))
    archive = extended(kind, content) + MEMBER[:1024]
    tracemalloc.start()
    # Early versions of Python 3.11 find such a record damaged.
    assert unpacked(archive * (400 >> 6))["A"] in (reason, "it is damaged or incomplete (invalid header)")
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("kind", [b"L", b"x"])
def test_headers_that_only_extend_each_other_end_with_a_reason(kind: bytes) -> None:
    assert str(unpacked(extended(kind, b"") * 60_000)["A"]).startswith("it is damaged or incomplete")


def test_headers_of_the_whole_archive_are_not_collected() -> None:
    contents = (b"".join(b"22 %06d%04d=aaaaaaa\n" % (at, row) for row in range(400)) for at in range(100))
    packed = gzip.compress(b"".join(extended(b"g", content) + MEMBER[:1024] for content in contents))
    tracemalloc.start()
    assert unpacked(packed) == {"A/a": b"x", "A": "it is damaged or incomplete (its end is missing)"}
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


def test_a_sparse_file_is_named() -> None:
    assert unpacked(extended(b"S", b"") + MEMBER) == {"A/x": "it is not an ordinary file", "A/a": b"x"}


def test_links_and_encrypted_members_are_named() -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    assert unpacked(file.getvalue()) == {"A/link": "it is not an ordinary file"}
    data = bytearray(zipped({"secret": "x"}))
    at = data.rfind(b"PK\x01\x02")
    data[at + 8] |= 1
    assert unpacked(bytes(data)) == {"A/secret": "it is encrypted"}


def test_a_zip_archive_with_a_huge_list_of_files_is_refused() -> None:
    data = bytearray(zipped({"x": "1"}))
    at = data.rfind(b"PK\x05\x06")
    data[at + 12 : at + 16] = struct.pack("<I", 1 << 30)
    assert "too many files" in str(unpacked(bytes(data))["A"])


def test_xz_has_a_bound_for_its_memory() -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 28}]
    assert "damaged" in str(unpacked(lzma.compress(b"text", filters=filters))["A"])


@pytest.mark.parametrize("head", list(archives._OTHERS))
def test_archives_of_other_kinds_are_named(head: bytes) -> None:
    (reason,) = unpacked(head + bytes(100)).values()
    assert str(reason).endswith("archive, which must be unpacked first")


def test_no_byte_of_an_archive_ends_the_reading_with_an_error() -> None:
    for whole in (tar(FILES, "w"), tar(FILES), tar(FILES, "w:xz"), zipped(FILES)):
        for at in range(0, len(whole), max(1, len(whole) // 60)):
            damaged = bytearray(whole)
            damaged[at] ^= 0xFF
            assert all(isinstance(x, Content | Unread) for x in archives.unpack("A", io.BytesIO(damaged)))
