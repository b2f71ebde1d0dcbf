"""clpeak of 2013 to 2026 with OpenCL: bandwidths and peaks of each device. Its speeds of vectors are those of device.peak.

https://github.com/krrishnarraj/clpeak
"""

from steelyard.importing.patterns import search
from steelyard.importing.text import Text
from steelyard.importing.values import NUMBER, Given, Values, make, make_name

TOOL = "clpeak"
MARKS = ("Global memory bandwidth (GBPS)", "Single-precision compute (GFLOPS)", "enqueueWriteBuffer  ")
SECTION = r"\s*(?P<name>[\w-].*\S) \((?P<unit>GBPS|GFLOPS|GIOPS)\)\s*$"
ROW = r"\s*(?P<name>[a-z]\w*(?: [\w-]+)*(?:\([\w ]+\))?(?: [\w-]+)*) *: (?P<word>\S.*?)\s*$"
UNITS = {"GBPS": "GB/s", "GFLOPS": "Gflop/s", "GIOPS": "Gop/s"}
KINDS = {
    "global memory": "float", "single": "float", "integer char": "char", "integer short": "short", "integer compute": "int",
    "transfer": "transfer",
}  # fmt: skip
PRECISIONS = {"single": "single", "half": "half", "double": "double"}
TRANSFERS = {"enqueueWriteBuffer": "to_device", "enqueueReadBuffer": "from_device"}
# A processor behind OpenCL is no device besides: its values keep the names of clpeak.
PROCESSORS = r"(?i)\bcpu\b|core\(tm\)|xeon|ryzen|epyc|pthread|basic-|native"


def read(text: Text) -> Values:
    """Yields the values of each device. What was skipped or failed has none."""
    for head, part in text.parts_or_whole(r"\s*Device(?: \d+)?: (.*\S)"):
        about: Given = {"device": head[1] if head else None, "door": "opencl"}
        for section, rows in part.parts(SECTION):
            seen = set[str]()
            for row, at in rows.match(ROW):
                name = row["name"]
                if name in seen or not _is_of(name, section["name"]):
                    text.problems.append(
                        f"line {rows.first + at}: '{name}' is not of '{section['name']}', whose rows end here"
                    )
                    break
                seen.add(name)
                if NUMBER.fullmatch(row["word"]):
                    with rows.row(at):
                        yield from _read_row(section["name"], section["unit"], name, row["word"], about)
        for latency, _ in part.match(r"\s*Kernel launch latency *: (\S+) us"):
            yield make("clpeak.launch", "launch", "latency", latency[1], "us", "mean", about)


def _is_of(name: str, section: str) -> bool:
    """Returns whether a row belongs below a heading: one that is missing would give its rows to the heading before."""
    first = section.partition("-")[0].partition(" (")[0].lower()
    kind = next((kind for words, kind in KINDS.items() if section.lower().startswith(words)), first)
    return name.startswith(("enqueue", "memcpy")) if kind == "transfer" else name.rstrip("0123456789") == kind


def _read_row(section: str, unit: str, name: str, word: str, about: Given) -> Values:
    is_device = not search(PROCESSORS, str(about["device"]))
    kind = section.partition("-precision")[0].lower()
    if section.startswith("Transfer"):
        if is_device and name in TRANSFERS:
            yield make(
                "device.transfer", TRANSFERS[name], "bandwidth", word, "GB/s", "mean", {**about, "memory": "pageable"}
            )
        else:
            yield make("clpeak.transfer", make_name(name), "bandwidth", word, "GB/s", "mean", about)
        return
    width = name.lstrip("abcdefghijklmnopqrstuvwxyz_")
    given = {**about, "width": int(width) if width.isdecimal() else 1}
    if is_device and unit == "GFLOPS" and kind in PRECISIONS:
        yield make("device.peak", "vector", "flops", word, "Gflop/s", "mean", given | {"precision": PRECISIONS[kind]})
    else:
        metric = "bandwidth" if unit == "GBPS" else "speed"
        yield make("clpeak.peak", make_name(section), metric, word, UNITS[unit], "mean", given)
