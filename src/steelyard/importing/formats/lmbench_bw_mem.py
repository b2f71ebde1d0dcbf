"""LMbench 2 and 3: the results of bw_mem in the record of a terminal, each below its command.

https://lmbench.sourceforge.net
"""

from collections.abc import Iterator

from steelyard.importing.text import Text
from steelyard.importing.values import make, number
from steelyard.model.foreign import ForeignValue

TOOL = "LMbench"
MARKS = ("bw_mem ",)
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


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields the bandwidth of each command that its result follows. Rows of stars and empty lines may stand between."""
    for command, part in text.parts(COMMAND):
        results = {at: row for row, at in part.match(RESULT)}
        lines = [at for at, line in enumerate(part.lines, part.first) if line.strip(" *")][1:3]
        if len(lines) == 2 and all(at in results for at in lines):
            text.problems.append(f"line {part.first} is a command with several results")
        elif lines and (row := results.get(lines[0])):
            with text.row(lines[0]):  # a megabyte is 10^6 bytes; the prefixes of versions differ
                count, power = int(command["count"]), POWERS[command["prefix"].lower()]
                fits = [
                    size
                    for size in (count << 10 * power, count * 1000**power)
                    if abs(size / 1e6 - number(row[1])) < 6e-3
                ]
                if not fits:
                    raise ValueError(f"{row[1]} MB are not the size of the command")
                processes = Text.of(command["options"] + "\n").integer(r"-P\s*(\d+)")
                about = {"bytes": fits[0], "processes": processes}
                yield make("lmbench.curve", KERNELS[command["operation"]], "bandwidth", row[2], "MB/s", "median", about)
