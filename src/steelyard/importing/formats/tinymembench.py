"""tinymembench 0.2 to 0.4.

https://github.com/ssvb/tinymembench
"""

import re

from steelyard.importing.text import Text
from steelyard.importing.values import Values, make, make_name, number

TOOL = "tinymembench"
MARKS = ("tinymembench v", "== Memory bandwidth tests")
# sbc-bench writes the board and the date above.
SYSTEM = r"^sbc-bench v\S+ +(\S.{0,80}?) \([A-Z][a-z]{2}, \d"
STARTED = r"^sbc-bench v\S.*\(([A-Z][a-z]{2}, \d\d? [A-Z][a-z]{2} \d{4} [\d:]+)"
COPIED = "The bytes of a copy count once, and not as bytes read and bytes written."
EXTRA = "The value does not include the latency of the first-level cache."


def read(text: Text) -> Values:
    """Yields the bandwidth of each loop, and the latency of each block size that is above that of the first cache."""
    for run in text.runs(r"\s*tinymembench v"):
        cpus = re.findall(r"Executing benchmark on (cpu\d+)", text.before(run, "MB/s"))  # sbc-bench runs it on several
        for line, _ in run.match(r" *([A-Za-z][^:]*?) +: *(\S+) MB/s(?:\s|$)"):
            cpu = {"cpu": cpus[-1]} if cpus else {}
            case = ("tinymembench.bandwidth", make_name(line[1]), "bandwidth")
            yield make(*case, line[2], "MB/s", "best", cpu, note=COPIED)
        for head, part in run.parts(r"\s*block size : .*random read(?:.*\[MADV_(\w+)\])?"):
            for row, _ in part.match(r" *(\d+) : *(\S+) ns +/ +(\S+) ns"):
                about = {"bytes": int(row[1]), "pages": head[1] and head[1].lower(), "cpu": cpus[-1] if cpus else None}
                for kernel, word in (("single_read", row[2]), ("dual_read", row[3])):
                    if number(word) > 0:
                        yield make("tinymembench.latency", kernel, "latency", word, "ns", "best", about, note=EXTRA)
