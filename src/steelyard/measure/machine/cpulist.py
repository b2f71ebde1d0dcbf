"""The kernel's notations for sets of processors: "0-3,8", and the mask "0000010f"."""

import re
from collections.abc import Iterable

# Linux can be built for 8192 processors at most on x86 (NR_CPUS); a much larger number is a mistake.
_MOST_CPUS = 1 << 16
_MASK = re.compile(r"[0-9a-fA-F]{1,8}(?:,[0-9a-fA-F]{1,8})*")


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """'0-3,8' → (0, 1, 2, 3, 8), in the order as written, each once; '' → ().

    Raises ValueError for anything else. Source: the kernel's Documentation/admin-guide/cputopology.rst.
    """
    cpus: dict[int, None] = {}
    for part in (piece.strip() for piece in text.strip().split(",")) if text.strip() else ():
        first, dash, last = part.partition("-")
        if not _is_number(first) or (dash and not _is_number(last)):
            raise ValueError(f"'{part}' in '{text.strip()}' is neither a processor number nor a range such as 0-3")
        low, high = int(first), int(last if dash else first)
        if low > high or high >= _MOST_CPUS:
            raise ValueError(
                f"'{part}' in '{text.strip()}' is a descending range or goes beyond processor {_MOST_CPUS - 1}"
            )
        cpus.update(dict.fromkeys(range(low, high + 1)))
    return tuple(cpus)


def format_cpu_list(cpus: Iterable[int]) -> str:
    """Returns (0, 1, 2, 3, 8) → '0-3,8', ascending: the inverse of `parse_cpu_list`."""
    ranges: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)


def readable_cpu_list(text: str | None) -> tuple[int, ...] | None:
    """Returns a list in the kernel's files as `parse_cpu_list` does, ascending; None for a missing or malformed list."""
    if text is None:
        return None
    try:
        return tuple(sorted(parse_cpu_list(text)))
    except ValueError:
        return None


def readable_cpu_mask(text: str | None) -> tuple[int, ...] | None:
    """'00000001,0000000f' → (0, 1, 2, 3, 32): words of 32 bits, the highest first; None if it is none.

    Source: the kernel's bitmap_print_to_pagebuf, Documentation/admin-guide/cputopology.rst.
    """
    stripped = (text or "").strip().removeprefix("0x")
    words = stripped.split(",")
    if len(words) > _MOST_CPUS // 32 or not _MASK.fullmatch(stripped):
        return None
    cpus: list[int] = []
    for place, word in enumerate(reversed(words)):
        bits = int(word, 16)
        if bits:
            cpus += [32 * place + bit for bit in range(bits.bit_length()) if bits >> bit & 1]
    return tuple(cpus)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10
