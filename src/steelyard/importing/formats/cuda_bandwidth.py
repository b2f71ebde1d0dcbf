"""bandwidthTest of the CUDA samples 5 to 12.

https://github.com/NVIDIA/cuda-samples
"""

from steelyard.importing.text import Text
from steelyard.importing.values import Values, make
from steelyard.model import ForeignValue, Scalar

TOOL = "CUDA bandwidthTest"
MARKS = ("CUDA Bandwidth Test", "bandwidthTest-")
OURS = {"host_to_device": "to_device", "device_to_host": "from_device"}  # kernels of device.transfer
KERNELS = {"H2D": "host_to_device", "D2H": "device_to_host", "D2D": "device_to_device"}
UNITS = {"MB/s": "MiB/s", "GB/s": "GB/s"}  # older versions call 2^20 bytes "MB"; newer ones print GB of 10^9 bytes
LINE = (
    r"\s*bandwidthTest-(\w{3})(?:-(\w+))?, Bandwidth = (\S+) ([MG]B/s), Time = \S+ s, Size = (\d+) bytes,"
    r" NumDevsUsed = (\d+)"
)


def read(text: Text) -> Values:
    """Yields the bandwidth of each size and direction. A failed test has none."""
    for run in text.rewrite(r"(Size \(Bytes\))\s+", r"\1  ").runs(r".*\[CUDA Bandwidth Test\]"):
        device = run.find(r"^\s*Device (\d+: .*)") or None
        if run.find(r"Result = FAIL"):
            text.problems.append(f"line {run.first}: bandwidthTest says that the test failed")
            continue
        for line, _ in run.match(LINE):
            about = {"message_bytes": int(line[5]), "memory": (line[2] or "device").lower(), "devices": int(line[6])}
            given = about | {"device": device}
            yield _make(KERNELS[line[1]], line[3], UNITS[line[4]], given)
        for head, part in run.parts(r"\s*(Host to Device|Device to Host|Device to Device) Bandwidth, (\d+) Device"):
            memory = part.find(r"(PINNED|PAGEABLE) Memory Transfers") or "device"
            for rows in part.tables(r"Transfer Size \(Bytes\)\s+Bandwidth\([MG]B/s\)", gap=True):
                for row in rows:
                    (_, size), (name, word) = row.items()
                    about = {"message_bytes": int(size), "memory": memory.lower(), "devices": int(head[2])}
                    kernel, unit = head[1].lower().replace(" ", "_"), UNITS[name[10:-1]]
                    yield _make(kernel, word, unit, about | {"device": device})


def _make(kernel: str, word: str, unit: str, given: dict[str, Scalar | None]) -> ForeignValue:
    """Returns a bandwidth: copies between host and device are those of Steelyard's own benchmark."""
    if kernel not in OURS:
        return make("cuda.copy", kernel, "bandwidth", word, unit, "mean", given)
    size = {"bytes": given.pop("message_bytes"), "door": "cuda"}
    return make("device.transfer", OURS[kernel], "bandwidth", word, unit, "mean", given | size)
