"""Reads the hosts that a user names: a list on the command line, or a file in the form of a launcher or a scheduler."""

import contextlib
import ipaddress
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from steelyard.errors import UsageError
from steelyard.measure.machine import hostlist
from steelyard.model import Host
from steelyard.model.numbers import MOST_SLOTS, whole
from steelyard.system import files

IPV6 = 6
# A name, or an IPv6 address. A leading "-" is not allowed, since launchers would read an option.
HOST = r"[A-Za-z0-9_][A-Za-z0-9_.-]*|(?=.*:.*:)[0-9A-Fa-f:][0-9A-Fa-f:.]*(?:%[A-Za-z0-9]+)?"
_ADDRESS = re.compile(r"\[([^\[\]:]*:[^\[\]:]*:[^\[\]]*)\](?::0*([1-9][0-9]*))?")
_NAMES = re.compile(r"(.*?)(?::0*([1-9][0-9]*))?")
# Words of a line besides the host: Open MPI's words for slots, and other words of launchers.
_COUNT = re.compile(r"(?<![\w-])(?:slots|cpus?|count)\s*=\s*0*([1-9][0-9]*)(?!\S)")
_WORD = re.compile(r"[A-Za-z_-]+\s*=\s*[^\s=]+(?!\S)")


def read_hosts(words: str) -> tuple[Host, ...]:
    """'a:4,n[01-02]:8,[fe80::1]:2' → four hosts, one slot where none is said; or the hosts in the file of that name.

    A line of a file is such a list. It may be a scheduler's nodefile (a host as often as it has slots), a hostfile of Open MPI
    ("a slots=4") or of Hydra ("a:4 binding=…"), or Grid Engine's ("a 4 queue …"). UsageError for anything else.
    """
    path = Path(words)
    if "/" in re.sub(r"\[[^\[\]]*\]", "", words) or files.is_file(path):  # a bracket may have a step: n[1-9/2]
        return _read_file(path)
    where = f"in --hosts {words}"
    hosts = tuple(_read_list(words, where))
    if not hosts:
        raise _refuse_host(words, where)
    name, times = Counter(host.name for host in hosts).most_common(1)[0]
    if times > 1:
        raise UsageError(f"--hosts {words} names the host {name} twice. Name it once, with more slots: {name}:2.")
    return hosts


def _read_file(path: Path) -> tuple[Host, ...]:
    try:
        lines = files.settings_in(path).splitlines()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(
            f"The file '{path}' (given by --hosts) cannot be read: {why}. Name a file with one host in each line."
        ) from None
    slots: Counter[str] = Counter()
    for number, line in enumerate(lines, 1):
        where = f"in line {number} of the file '{path}' (given by --hosts)"
        text, *rest = re.sub(r",\s+", ",", line.partition("#")[0]).split(None, 1) or [""]
        for host in _read_list(text, where, _read_slots(rest[0], where) if rest else "1"):
            slots[host.name] += host.slots
    if not slots:
        raise UsageError(
            f"The file '{path}' (given by --hosts) names no host. Write one host in each line, such as node1:4."
        )
    where = f"in the file '{path}' (given by --hosts)"
    return tuple(Host(n, whole(str(s), f"(the slots of '{n}' {where})", 1, MOST_SLOTS)) for n, s in slots.items())


def _read_slots(rest: str, where: str) -> str:
    """Returns the slots that the words behind a host state; "1" where they say nothing."""
    first = rest.split(None, 1)[0]
    if first.isascii() and first.isdecimal():
        return first
    if not _WORD.match(rest):
        raise _refuse_host(rest.strip(), where)
    count = _COUNT.search(rest)
    return count[1] if count else "1"


def _read_list(words: str, where: str, usual: str = "1") -> Iterator[Host]:
    for word in filter(None, map(str.strip, hostlist.split(words))):
        names, slots = _expand_names(word)
        if not names or not all(re.fullmatch(HOST, name) for name in names):
            raise _refuse_host(word, where)
        count = whole(slots or usual, f"(the slots of '{names[0]}' {where})", 1, MOST_SLOTS)
        yield from (Host(name, count) for name in names)


def _expand_names(word: str) -> tuple[tuple[str, ...], str | None]:
    """Returns (names, slots) of a word; no names if it is not a host."""
    if is_address(word):
        return (word,), None
    if address := _ADDRESS.fullmatch(word):
        return ((address[1],) if is_address(address[1]) else ()), address[2]
    match = _NAMES.fullmatch(word)
    with contextlib.suppress(ValueError):
        return (hostlist.expand(match[1]), match[2]) if match else ((), None)
    return (), None


def is_address(text: str) -> bool:
    """Returns whether it is an IPv6 address, with or without its zone (fe80::1%eth0)."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(text).version == IPV6
    return False


def _refuse_host(word: str, where: str) -> UsageError:
    return UsageError(
        f"'{word}' {where} is not a host. Write NAME or NAME:SLOTS, such as node1:4,node[02-04]:4, or name a file with such "
        "lines."
    )
