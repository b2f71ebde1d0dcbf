"""Lists of hosts as Slurm, Flux, pdsh and ClusterShell write them: n[1-3,07],x."""

import re
from collections.abc import Sequence
from itertools import groupby, product
from math import prod

# Slurm's limit of a bracket's range (MAX_RANGE), larger than any cluster.
MOST_HOSTS = 1 << 16
_NAME = re.compile(r"(?:[^\[\],\s]|\[[^\[\]\s]+\])+")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?:/([1-9]\d{0,8}))?)?", re.ASCII)
_WORD = re.compile(r"(?:[^\[,]|\[[^\]]*\]?)+")


def split(text: str) -> list[str]:
    """Returns the words between the commas that are outside of brackets."""
    return _WORD.findall(text)


def short_name(host: str) -> str:
    """Returns 'n1' for 'n1.cluster.org'. An address stays unchanged."""
    import ipaddress

    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return host.partition(".")[0]


def expand(text: str) -> tuple[str, ...]:
    """'n[1-3,07],x' → ('n1', 'n2', 'n3', 'n07', 'x'), in the order as written; zeros in front are kept, '' → ().

    Several brackets in one name count like digits, the last one fastest. [1-9/2] is every second number, as ClusterShell
    writes it. An empty name between two commas is skipped. Raises ValueError for anything else.
    """
    names: list[str] = []
    for name in split(text):
        if not _NAME.fullmatch(name):
            raise ValueError(f"'{name}' in '{text}' is neither a host name nor a list such as n[1-3,7]")
        choices = [
            _expand_numbers(inside, text) if inside else [plain]
            for inside, plain in re.findall(r"\[([^\[\]]+)\]|([^\[\]]+)", name)
        ]
        if len(names) + prod(map(len, choices)) > MOST_HOSTS:
            raise ValueError(f"'{text}' names more than {MOST_HOSTS} hosts")
        names += map("".join, product(*choices))
    return tuple(names)


def compress(hosts: Sequence[str]) -> str:
    """Returns ('n1', 'n2', 'n3', 'n7', 'x') → 'n[1-3,7],x': a short text that `expand` reads back, in the order of the hosts."""
    words: list[str] = []
    # A name without a number is no part of a list of numbers.
    for (prefix, numbered), group in groupby(hosts, lambda h: (h.rstrip("0123456789"), h[-1:].isdigit())):
        spans: list[tuple[str, str]] = []
        if not numbered:
            words += group
            continue
        for digits in (host[len(prefix) :] for host in group):
            follows = spans and digits == str(int(spans[-1][1]) + 1).zfill(len(spans[-1][1]))
            spans[-1:] = [(spans[-1][0], digits)] if follows else [*spans[-1:], (digits, digits)]
        ranges = ",".join(first if first == last else f"{first}-{last}" for first, last in spans)
        words.append(f"{prefix}[{ranges}]" if any(c in ranges for c in ",-") else prefix + ranges)
    return ",".join(words)


def _expand_numbers(inside: str, text: str) -> list[str]:
    """'08-10,3' → ['08', '09', '10', '3']."""
    numbers: list[str] = []
    for part in inside.split(","):
        match = _RANGE.fullmatch(part)
        if not match:
            raise ValueError(f"'[{inside}]' in '{text}' is not a list of numbers and ranges such as [1-3,7]")
        low, high = match[1], match[2] or match[1]
        if not 0 <= int(high) - int(low) < MOST_HOSTS:
            raise ValueError(f"'{part}' in '{text}' is a descending range, or has more than {MOST_HOSTS} hosts")
        numbers += (str(number).zfill(len(low)) for number in range(int(low), int(high) + 1, int(match[3] or 1)))
    return numbers
