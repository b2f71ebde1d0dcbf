"""Rows of tables on messages: what their figures show, and rows with the figures of two places."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from steelyard.importing.patterns import find_all
from steelyard.importing.text import Row, Text
from steelyard.importing.values import FITTING, NUMBER, expect_near, find_unit, number
from steelyard.units import binary_size

# What begins a run of IMB: its heading, or the command of a launcher.
IMB_RUN = r"\s*#\s+Intel ?\(R\) MPI Benchmark|\s*(?:[^\s#].*)?\b(?:mpirun|mpiexec|srun|aprun)\b.*\bIMB-[A-Z]"
_SMALL = 0.2  # a number with two decimals, which is rounded by more than half the difference of MB and MiB


UNREAD = r"\s*+(?P<size>\d++)[\d\s]*+(?P<why>out-of-|time-out|int-over)"  # rows of sizes that IMB did not measure
_LIMITS = {"time-out": "time limit", "out-of-": "memory limit", "int-over": "greatest number"}


def refuse_unmeasured(part: Text) -> None:
    """Names the sizes that IMB did not measure."""
    for row, line in part.match(UNREAD):
        size = binary_size(int(row["size"])) if "#bytes" in part.whole else "a row"
        part.problems.append(f"line {line}: {size} was stopped by IMB's {_LIMITS[row['why']]}")


def find_megabyte(rows: Sequence[Row], version: int = 0) -> str:
    """Returns the unit of "Mbytes/sec" of IMB, which is MB/s since 2018.

    For other versions, size and time (or rate) of the row of the largest size show whether it is MB/s or MiB/s. If that rate is
    too small to show it, it is MiB/s up to version 4. Operations count their bytes once, twice or four times.
    ValueError if neither unit fits.
    """
    if version >= 2018:
        return "MB/s"
    size, row = max(((number(row.get("#bytes", row.get("bytes", "0"))), row) for row in rows), key=lambda pair: pair[0])
    if not number(row.get("Mbytes/sec", "0")):
        return "MB/s"
    if 1 < version < 5 and number(row["Mbytes/sec"]) < _SMALL:
        return "MiB/s"
    time = number(row.get("t_max[usec]", row.get("t[usec]", "0")))
    rate = number(row.get("Msg/sec", "0")) or (1e6 / time if time else 0.0)
    return find_unit(row["Mbytes/sec"], rate * size, ("MB/s", "MiB/s"), multiples=(1, 2, 4))


def share_ranks(benchmark: str, ranks: int | None) -> int | None:
    """Returns how many pairs of ranks IMB measured at once. A ping-pong has more than one pair in IMB-P2P only."""
    several = benchmark == "network.rate" or (benchmark == "network.pingpong" and (ranks or 0) > 2)
    return ranks // 2 if ranks and several else None


def fits_all_reduce(rows: Sequence[Row], ranks: int) -> bool:
    """Whether the bus moves 2 (n - 1) / n times the bytes of the last rows, which no operation but an all-reduce does."""
    words = [(row.get("busbw", ""), row.get("algbw", "")) for row in rows[-2:]]
    pairs = [(number(bus), number(alone)) for bus, alone in words if NUMBER.fullmatch(bus) and NUMBER.fullmatch(alone)]
    fits = all(alone and abs(bus * ranks / alone / (2 * ranks - 2) - 1) < 0.01 for bus, alone in pairs if ranks > 2)
    return bool(pairs) and ranks > 2 and fits


def count_devices(hosts: Mapping[str, str]) -> dict[str, int]:
    """Returns the numbers of ranks and of their nodes; empty if the list of ranks with their hosts is not complete."""
    complete = {*map(int, hosts)} == {*range(len(hosts) or 1)}  # a page may show only the last ranks
    return {"ranks": len(hosts), "nodes": len({*hosts.values()})} if complete else {}


def count_pairs(rows: Sequence[Row]) -> int:
    """Returns how many pairs of ranks sent at once: their common rate (B/s), times the time, is a multiple of the length.

    ValueError if it is none within 1 %.
    """
    row = max(rows, key=lambda row: number(row["len"]))
    time = row.get("min", row.get("ave time (us)"))
    if time is None:
        raise ValueError("the heading of its table names no time")
    pairs = number(row["rate"]) * 1e-6 * number(time) / number(row["len"]) if number(row["len"]) else 1.0
    if pairs < 0.99 or abs(pairs / round(pairs) - 1) > 0.01:
        raise ValueError("its rate does not fit its time and length")
    return round(pairs)


def split_places(table: Text, line: str) -> Iterator[Row]:
    """Yields for each line that matches a row out of place and a row in place, without what was not measured.

    The match ends before the words of the fourth column; its groups are bytes and type. Tests without a reduction leave columns
    before the times empty. A row whose bandwidth is not its bytes divided by its time becomes a problem. ValueError for units
    other than us and GB/s.
    """
    if {unit[1] for unit in find_all(r"\((\S+)\)", "".join(table.lines[1:2]))} - {"B", "elements", "us", "GB/s"}:
        raise ValueError(f"line {table.first + 1} has other units than us and GB/s")
    scale = 1e-3 if "size" in table.lines[0] else 1e-6  # from bytes/us, in the first generation from bytes/ms
    names = table.lines[0].lstrip(" #\t").split()[3:]
    begins = [at for at, name in enumerate(names) if name in ("time", "cputime")]
    halves = list(zip(("out of place", "in place"), pairwise([*begins, len(names)]), strict=False))
    for match, at in table.match(line):
        words = match.string[match.end() :].split()
        lacking = len(names) + names.count("timestamp") - len(words)  # a time stamp has two words
        if not begins or not 0 <= lacking <= begins[0]:
            table.problems.append(f"line {at} has {len(words) + 3} columns, but its heading has {len(names) + 3}")
            continue
        operation = words[0] if lacking < begins[0] and words[0].isalpha() else "none"
        for place, (begin, end) in halves:
            half = zip(names[begin:end], words[begin - lacking : end - lacking], strict=True)
            row = Row({name: word for name, word in half if word not in ("N/A", "0.00")})
            row |= {"bytes": match["bytes"], "precision": match["type"], "operation": operation, "place": place}
            row.line = at
            with table.row(at):
                if "algbw" in row and "time" in row:
                    rate = int(row["bytes"]) * scale / number(row["time"])
                    sentence = f"{row['bytes']} B in {row['time']} are not {row['algbw']} GB/s"
                    expect_near(number(row["algbw"]), rate, 0.006 + FITTING * rate, sentence)
                yield row
