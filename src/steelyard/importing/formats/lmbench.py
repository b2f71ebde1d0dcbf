"""LMbench 2 and 3: the file of a machine, the output of its programs, and the tables of `make see` and `make summary`.

https://lmbench.sourceforge.net
"""

import math
import re
from collections import Counter
from dataclasses import replace

from steelyard.importing.grids import read_aligned
from steelyard.importing.patterns import Match, search
from steelyard.importing.text import Text
from steelyard.importing.values import Values, make, make_name, make_printed, number

TOOL = "LMbench"
HOST = r"^\[HOSTNAME: (\S+)\]"
STARTED = r"^\[(\w{3} \w{3} +\d+ [\d:]+ .*\d{4})\]"
LINE = r"\s*(?P<name>[A-Za-z][^:]*): +(?P<word>\S+) (?P<unit>microseconds|nanoseconds|milliseconds|[KM]B/sec)\s*$"
CALLS = ("syscall", "read", "write", "stat", "fstat", "open/close")
RESULT_MARKS = (
    "[lmbench", *(f"Simple {call}: " for call in CALLS), "Process fork+", "Signal handler overhead: ", "Protection fault: ",
    "Pipe latency: ", "Pipe bandwidth: ", "AF_UNIX sock stream ", "TCP latency using ", "UDP latency using ",
    "STREAM copy bandwidth: ", "STREAM2 copy bandwidth: ",
)  # fmt: skip
FILES = r"\s*(?P<kib>\d{1,6})k\s+\d+\s+(?P<create>\d+)\s+(?P<delete>\d+)\s*$"
NOTE = "The bytes are counted as in STREAM. The compiler may have used streaming stores."


def read_results(text: Text) -> Values:
    """Yields each latency, bandwidth and rate. The programs print medians, and of STREAM the best of all passes."""
    alone = text.find(r"\[SYNC_MAX: (\d+)") in ("", "1")
    for line, _ in text.match(LINE):
        metric = "bandwidth" if line["unit"].endswith("B/sec") else "latency"
        ours = re.fullmatch(r"STREAM (copy|scale|add|triad) bandwidth", line["name"]) if alone else None
        words = [word for word in line["name"].split() if word[0] != "/"]  # without the path of a file
        benchmark, kernel = ("memory.stream", ours[1]) if ours else ("lmbench.result", make_name(" ".join(words)))
        statistic = "best" if line["name"].startswith("STREAM") else "median"
        about, note = ({"threads": 1}, NOTE) if ours else ({}, "")
        yield make_printed(benchmark, kernel, metric, line["word"], line["unit"], statistic, about, note=note)
    for line, _ in text.match(FILES):
        for name in ("create", "delete"):
            size = {"bytes": int(line["kib"]) << 10}
            yield make("lmbench.file_system", name, "rate", line[name], "op/s", "mean", size)


# The operations, with the names that they have in the file of a machine.
KERNELS = {
    "rd": "memory_partial_read_bandwidth", "frd": "memory_read_bandwidth", "wr": "memory_partial_write_bandwidth",
    "fwr": "memory_write_bandwidth", "rdwr": "memory_partial_read_write_bandwidth", "bzero": "memory_bzero_bandwidth",
    "bcopy": "libc_bcopy_unaligned", "cp": "unrolled_partial_bcopy_unaligned", "fcp": "unrolled_bcopy_unaligned",
}  # fmt: skip
COMMAND = (
    r"(?:.*[\s/])?bw_mem(?P<options>(?:\s+-[PWN]\s*\d{1,6})*)\s+(?P<count>\d{1,12})(?P<prefix>[kKmM]?)\s+"
    rf"(?P<operation>{'|'.join(KERNELS)})\s*$"
)
RESULT = r"\s*(\d+\.\d{2,6})\s+(\d+\.\d{2,6})\s*$"
POWERS = {"": 0, "k": 1, "m": 2}


def read_bw_mem(text: Text) -> Values:
    """Yields the bandwidth of each command that its result follows. Rows of stars and empty lines may stand between."""
    for command, part in text.parts(COMMAND):
        results = {at: row for row, at in part.match(RESULT)}
        lines = [at for at, line in enumerate(part.lines, part.first) if line.strip(" *")][1:3]
        if len(lines) == 2 and all(at in results for at in lines):
            text.problems.append(f"line {part.first} is a command with several results")
        elif lines and (row := results.get(lines[0])):
            with text.row(lines[0]):  # a megabyte is 10^6 bytes; the prefixes of versions differ
                count, power = int(command["count"]), POWERS[command["prefix"].lower()]
                sizes = (count << 10 * power, count * 1000**power)
                fits = [size for size in sizes if abs(size / 1e6 - number(row[1])) < 6e-3]
                if not fits:
                    raise ValueError(f"{row[1]} MB are not the size of the command")
                processes = Text.of(command["options"] + "\n").integer(r"-P\s*(\d+)")
                about = {"bytes": fits[0], "processes": processes}
                yield make("lmbench.curve", KERNELS[command["operation"]], "bandwidth", row[2], "MB/s", "median", about)


CURVE = (
    r'"?(?P<name>mappings|size=(?P<kib>\d{1,6})k ovr=\S+|stride=(?P<stride>\d{1,6})|Random load latency|'
    r"Memory load (?:latency|parallelism)|[A-Za-z/0-9 ]* (?:bandwidth|aligned|unaligned)(?: using \S+)?)\s*$"
)
RANDOM = r"\blat_mem_rd\b.* -t\b"  # this option makes the order of its accesses random
OTHERS = {"mappings": ("latency", "us"), "memory_load_parallelism": ("parallelism", "")}


def read_curves(text: Text) -> Values:
    """Yields the results of each curve. The programs print medians, and of the latency of memory the least of all passes."""
    random = False
    for head, part in text.parts(CURVE):
        named = head["name"] == "Random load latency" or search(RANDOM, text.before(part, r"^\s*[\d.]+ [\d.]+\s*$"))
        random = bool(named or (random and head["stride"]))
        for place, row in enumerate(part.fit(("size", "word"), r"[\d.]+\s", "MB/sec"), part.first + 1):
            if row.line != place or head["name"].endswith("load latency"):
                text.problems.append(f"line {row.line} does not follow the heading of its table")
                break
            yield from _read_row(head, number(row["size"]), row["word"], random)
        random = random and not part.find(r"^\s*\[\w")  # a line such as [date] ends the results of a machine


def _read_row(head: Match, size: float, word: str, random: bool) -> Values:
    if head["stride"]:
        amount = round(size * 2048) * 512  # of MiB with 5 digits; the sizes are multiples of 512
        chase = {"threads": 1, "chains": 1, "bytes": amount}
        stride = {"stride_bytes": int(head["stride"]), "bytes": amount}
        case = ("memory.latency", "chase", "latency") if random else ("lmbench.memory_latency", "stride", "latency")
        yield make(*case, word, "ns", "least", chase if random else stride)
    elif head["kib"]:
        given = {"processes": int(size), "bytes": int(head["kib"]) << 10}
        yield make("lmbench.context_switch", "switch", "latency", word, "us", "median", given)
    elif size > 0:
        power = 2 ** round(math.log2(size * 1e6))  # of MB with 3 digits; most sizes are powers of two
        given = {"bytes": power if abs(power - size * 1e6) < 0.005 * power else round(size * 1e6)}
        metric, unit = OTHERS.get(make_name(head["name"]), ("bandwidth", "MB/s"))
        yield make("lmbench.curve", make_name(head["name"]), metric, word, unit, "median", given)


# The first letters of the words of both lines of the heading, and the names of the columns. A "-" stands for a column that is
# no result. LMbench 2 has no random latency and no "100fd".
COLUMNS = {
    "Processor, Processes":
        "Mnnosssfes/cIscTihppp - null_call null_io stat open_close select_tcp signal_install signal_handle fork exec shell",
    **{f"Basic {x} operations": f"i{{5}}/bamdm {x}_bit {x}_add {x}_mul {x}_div {x}_mod" for x in ("integer", "uint64")},
    **{f"Basic {x} operations": f"{x[0]}{{4}}/amdb {x}_add {x}_mul {x}_div {x}_bogo" for x in ("float", "double")},
    "Context switching": "2228811/c{7} 2p_0k 2p_16k 2p_64k 8p_16k 8p_64k 16p_16k 16p_64k",
    "*Local* Communication latencies": "2PAURTRT/cUUTc context_switch pipe af_unix udp rpc_udp tcp rpc_tcp tcp_connect",
    "*Remote* Communication latencies": "URTRT/UTc udp rpc_udp tcp rpc_tcp tcp_connect",
    "File & VM system latencies":
        "0F1FMPP1?/CDCDLFFs? create_0k delete_0k create_10k delete_10k mmap protection_fault page_fault select_100fd",
    "*Local* Communication bandwidths":
        "PATFMBBMM/Urr[(][(]rw pipe af_unix tcp file_reread mmap_reread bcopy_libc bcopy_hand read write",
    "Memory latencies": "ML[$]L[$]Mm(Rm)?G/-+ - l1 l2 main random -",
}  # fmt: skip


def _name_columns(table: str, part: Text) -> list[str]:
    """Returns the names of the columns of a table; [] if its heading, the first one in `part`, is not the known one."""
    letters, *names = COLUMNS.get(table, "unknown").split()
    heading = search(r"^Host +OS +(.*)\n(.*)", part.whole)
    found = "/".join("".join(word[0] for word in line.split()) for line in heading.groups()) if heading else ""
    return [name for name in names if name != "random" or "Rm" in found] if re.fullmatch(letters, found) else []


UNITS = {"microseconds": ("latency", "us"), "nanoseconds": ("latency", "ns"), "MB/s": ("bandwidth", "MB/s")}
TABLE = (
    r"(?P<name>[*A-Z].*?)(?: - times)? in (?P<unit>microseconds|nanoseconds|MB/s) - (?:smaller|bigger) is better\s*$"
)


def read_summary(text: Text) -> Values:
    """Yields the entries of the tables for each host; an entry may be missing."""
    for head, part in text.parts(TABLE):
        (metric, unit), columns = UNITS[head["unit"]], _name_columns(head["name"], part)
        table = next((table for _, table in part.parts("Host +OS ")), part)  # the second table of a page has no title
        rows = list(read_aligned(table, r"-{3,} +-{3,} +-[- ]*$", 2))
        systems = Counter(host for host, _ in {(row[0], row[1]) for row in rows})
        for host, system, *entries in rows:
            # A heading that is repeated, or the row of another table.
            if not any(map(str.isdigit, system)) or not re.fullmatch(r"[\w.-]+", host):
                text.problems.extend([f"the row of '{host}' names no system"] * (host != "Host"))
                continue
            if not len(columns) - 1 <= len(entries) <= len(columns):
                known = f"are {len(entries)} instead of {len(columns)}" if columns else "have unknown names"
                text.problems.append(f"the columns of the table '{head['name']}' {known}")
                break
            for name, entry in zip(columns, entries, strict=False):
                if entry and name != "-":
                    amount = number(entry.removesuffix("K")) * 1000 if entry.endswith("K") else entry
                    about = {"system": system} if systems[host] > 1 else {}
                    value = make(f"lmbench.{make_name(head['name'])}", name, metric, amount, unit, "as printed", about)
                    yield replace(value, host=host)


READERS = {
    read_results: RESULT_MARKS,
    read_bw_mem: ("bw_mem ",),
    read_curves: ("[lmbench", '"stride=', "k ovr=", '"mappings', "Memory load latency"),
    read_summary: ("L M B E N C H",),
}
