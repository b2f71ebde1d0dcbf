"""RAMspeed 2 and RAMspeed/SMP 3: bandwidths of blocks (mark) and of copy, scale, add and triad (mem).

https://github.com/cruvolo/ramspeed-smp
"""

from steelyard.importing.text import Text
from steelyard.importing.values import Values, make

TOOL = "RAMspeed"
MARKS = ("RAMspeed (", "RAMspeed/SMP (", " Kb block: ", "INTEGER   Copy: ", "FL-POINT  Copy: ")
UNITS = {"B": "MB/s", "b": "MiB/s"}  # "MB" are 10^6 bytes; with the option -r it prints "Mb" for 2^20 bytes
LINE = (
    r"\s*(?P<kind>INTEGER|FL-POINT|MMX|SSE)(?P<nt> \(nt\))?\s+(?:(?P<kernel>Copy|Scale|Add|Triad|AVERAGE):"
    r"|& (?P<mark>WRITING|READING)(?: \(nt\))?\s+(?P<kib>\d{1,9}) Kb block:)\s+(?P<word>\S+) M(?P<unit>[Bb])/s\s*$"
)


def read(text: Text) -> Values:
    """Yields the bandwidth of each block and kernel. The means of a batch are left out, as its runs are there."""
    for part in text.runs(r"\s*RAMspeed"):
        processes = part.integer(r"per pass mode, (\d+) processes")
        for line, _ in part.match(LINE):
            kernel = (line["kernel"] or line["mark"]).lower()
            stores = "streaming" if line["nt"] or " (nt) " in line[0] else None
            about = {"processes": processes, "instructions": line["kind"].lower(), "stores": stores}
            size = {"block_bytes": int(line["kib"]) << 10} if line["kib"] else {}
            statistic = "mean of the kernels" if kernel == "average" else "one run"
            yield make(
                "ramspeed.memory", kernel, "bandwidth", line["word"], UNITS[line["unit"]], statistic, {**about, **size}
            )
