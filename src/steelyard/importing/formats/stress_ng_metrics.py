"""stress-ng 0.13 to 0.20: the miscellaneous metrics on the screen, in the units of each stressor.

https://github.com/ColinIanKing/stress-ng
"""

from collections.abc import Iterator

from steelyard.importing.formats.stress_ng import FAILED, STAMP
from steelyard.importing.patterns import match
from steelyard.importing.text import Text
from steelyard.importing.values import make_name, make_printed, number
from steelyard.model.foreign import ForeignValue

TOOL = "stress-ng"
MARKS = ("miscellaneous metrics:", "(harmonic mean of ", "(geometric mean of ")
LINE = (
    r".*stress-ng: metrc: +\[\d+\] (?P<name>[\w-]+) +(?P<word>\d+\.\d+) (?P<what>[A-Za-z%][^\\\n]*?)"
    r"(?: \((?P<mean>\w+ mean) of (?P<workers>\d{1,6}) instances?\))?\s*$"
)
# Metric and unit by the words of stress-ng, whose MB are 2^20 bytes.
MEANINGS = {
    r"nanosec(?:ond)?s? (.*)": ("time", "ns"), r"microsec(?:ond)?s? (.*)": ("time", "us"),
    r"millisec(?:ond)?s? (.*)": ("time", "ms"), r"sec(?:ond)?s (.*)": ("time", "s"),
    r"MB(?: per |/)sec(?:ond)? ?(.*)": ("bandwidth", "MiB/s"), r"(.*) MB(?: per |/)sec(?:ond)?": ("bandwidth", "MiB/s"),
    r"M(?:flop|FLOP) per sec(?:ond)? (.*)": ("flops", "Mflop/s"), r"(.*?)(?: per |/)sec(?:ond)?\b.*": ("rate", "/s"),
}  # fmt: skip


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields each metric of each stressor, without those that are zero. A run with a failure has none."""
    for part in text.ended().rewrite(*STAMP).runs(r".*stress-ng: .*dispatching hogs"):
        for line, _ in part.match(LINE) if not part.find(FAILED) else ():
            matches = ((match(f"(?:{pattern})$", line["what"]), meaning) for pattern, meaning in MEANINGS.items())
            other = (line["what"], "value", line["what"])
            words, metric, unit = next(((m[1], *meaning) for m, meaning in matches if m), other)
            kernel, mean = make_name(f"{line['name']} {words}"), line["mean"] or "as printed"
            workers = {"workers": int(line["workers"]) if line["workers"] else None}
            if number(line["word"]) > 0:
                yield make_printed("stress_ng.metric", kernel, metric, line["word"], unit, mean, workers)
