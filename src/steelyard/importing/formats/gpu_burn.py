"""gpu-burn (gpu_burn) of 2019 to 2025: the speed of each GPU in its last report. A GPU with errors has none.

https://github.com/wilicc/gpu-burn
"""

from dataclasses import replace

from steelyard.importing.patterns import find_all, search
from steelyard.importing.text import Text
from steelyard.importing.values import Given, Values, make, number

TOOL = "gpu-burn"
MARKS = ("proc'd: ",)
REPORT = r"proc'd:([^%\n]*?)errors:([^%\n]*?)temps:"
ERRORS = r"(-?\d+)\s*(?:\((\w+!)\)\s*)?(?:- |$)"
SILENT = "The output does not say that the GPUs are OK."


def read(text: Text) -> Values:
    """Yields the speed of each GPU in the last report of each run. A speed of zero is no result."""
    for run in text.runs(r".*GPU 0: .*\(UUID"):
        reports = [*find_all(REPORT, run.whole)]
        if not reports:
            continue
        rates = [found[1] for found in find_all(r"\(\s*(\S+) Gflop/s\)", reports[-1][1])]
        faults = [[int(e[1]) != 0 or bool(e[2]) for e in find_all(ERRORS, r[2].strip())] for r in reports]
        faulty = {int(found[1]) for found, _ in run.match(r"\s*GPU (\d+): FAULTY")}
        faulty |= {gpu for gpu in range(len(rates)) if any(len(f) != len(rates) or f[gpu] for f in faults)}
        idle = {gpu for gpu, rate in enumerate(rates) if number(rate) <= 0} - faulty
        for gpus, what in ((faulty, "have errors"), (idle, "computed nothing")):
            if gpus:
                text.problems.append(f"line {run.first}: these GPUs {what}: {', '.join(map(str, sorted(gpus)))}")
        about, names = _read_options(text, run), {int(f[1]): f[2] for f, _ in run.match(r".*?GPU (\d+): (.+?) \(UUID")}
        note = "" if run.find(r"^\s*GPU \d+: (?:OK|FAULTY)") else SILENT
        for gpu, rate in enumerate(rates):
            if gpu not in faulty | idle:
                given = {**about, "gpu": gpu, "device": names.get(gpu)}
                made = make("gpu_burn.burn", "gemm", "speed", rate, "Gflop/s", "last report", given, note=note)
                yield replace(made, started=run.find(r"Summary at: +(\S.*)"))


def _read_options(text: Text, run: Text) -> Given:
    """Returns the precision, whether tensor cores were used, and the length of the run, which may stand before it."""
    length = search(r"Burning for (\d+) sec", f"{text.before(run, 'GPU [0-9]+: OK', 3)}\n{run.whole}")
    return {
        "precision": run.find(r"using (FLOATS|DOUBLES)").lower().rstrip("s") or None,
        "tensor_cores": "yes" if run.find("using Tensor Cores") else None,
        "seconds": int(length[1][:9]) if length else None,
    }
