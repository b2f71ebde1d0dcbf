"""Tests of perftest: what each of them means, and its parameters, in tables and in JSON."""

import re
from collections.abc import Iterator

from steelyard.importing.operations import Meaning
from steelyard.importing.patterns import Match
from steelyard.importing.text import Text
from steelyard.importing.values import Given

HEAD = r'[ \t"]*(?:test[" ]*:[ "]*)?(?P<verb>RDMA_Write|RDMA_Read|Send|Atomic|RawEth)(?P<what>[\w ]*?(?:BW|Latency))[ _]Test'
COMMAND = r"\bib_((?:write|read|send|atomic)_(?:bw|lat))\b"
_ADDRESS = r"\s*(?:local|remote) address: .*?QPN (\w+) PSN (\w+)"
_SIDE = r"\s*(Local|Remote) results:"  # of both directions, with --report-both
_BINARY = "perftest counts 2^20 bytes as a MB."
_HALF, _WHOLE = "The time is half of a round trip.", "The time is that of a whole round trip."
_NOTES = {"write_latency": _HALF, "send_latency": _HALF, "read_latency": _WHOLE}
_WORDS = {"connection": r'Connection[ _]type[" ]*:[ "]*(\w+)', "link": r'Link[ _]type[" ]*:[ "]*(\w+)'}
_COUNTS = {"queue_pairs": r'Number[ _]of[ _]qps[" ]*: *(\d+)', "mtu": r'Mtu[" ]*: *(\d+)'}


def describe_test(head: Match | None, part: Text) -> tuple[Meaning, Given]:
    """Returns what a test with this heading (else with this command) means, and its parameters: of tables or of JSON."""
    words = f"{head['verb'].removeprefix('RDMA_')}{head['what']}" if head else part.find(COMMAND, "messages")
    name = re.sub(r"_lat$", "_latency", re.sub(r"\W+", "_", words.lower()))
    return Meaning(f"perftest.{name}", name, note=_NOTES.get(name, _BINARY)), {
        **part.integers(**_COUNTS),
        **part.words(**_WORDS),
    }


def find_ends(part: Text) -> object:
    """Returns the addresses of both ends of a run, the same for its client and its server; without them, what equals no other."""
    ends = frozenset(found.groups() for found, _ in part.match(_ADDRESS))
    return ends if len(ends) > 1 else object()


def split_sides(part: Text) -> Iterator[tuple[str | None, Text]]:
    """Yields the tables of a run with the side that each is of: None, or "local" or "remote" with --report-both."""
    for side, own in part.parts_or_whole(_SIDE):
        yield side[1].lower() if side else None, own
