"""NAS Parallel Benchmarks (NPB) 2.3 to 3.4 and NPB-CPP 4.1: OpenMP, MPI, multi-zone, serial and on GPUs.

https://www.nas.nasa.gov/software/npb.html
"""

from collections import Counter
from collections.abc import Mapping

from steelyard.importing.text import Text, find_last_before
from steelyard.importing.values import Given, Values, expect_near, make, number
from steelyard.model.foreign import ForeignValue

TOOL = "NAS Parallel Benchmarks"
MARKS = ("NAS Parallel Benchmarks", " Benchmark Completed")
HEAD = r"\s*NAS Parallel Benchmarks\b(?P<version>.*?)\s-+\s*(?P<name>[A-Z]{2}(?:-MZ)?)\b"
DONE = r"\s*(?P<name>[A-Z]{2}(?:-MZ)?) Benchmark Completed"
OURS = ("CG", "EP", "FT", "IS", "LU", "MG", "UA")
# Models that the heading names.
OTHERS = ("cuda", "opencl", "ocl", "openacc", "hip", "upc", "shmem", "tbb", "fastflow", "rayon", "golang")
THEIRS = "This is the program of NPB. The program of Steelyard does the same work with another algorithm."


def read(text: Text) -> Values:
    """Yields time and Mop/s of each program, of all and of one thread or rank. Results that are not verified have no values."""
    text = text.ended()
    heads, done = list(text.match(HEAD)), list(text.parts(DONE))
    started, ended = (Counter(row["name"] for row, _ in rows) for rows in (heads, done))
    text.problems.extend(f"a run of {name} did not complete" for name in started - ended)
    versions: dict[str, list[tuple[int, str]]] = {}
    for row, at in heads:
        versions.setdefault(row["name"], []).append((at, row["version"].lower()))
    for head, part in done:
        version = find_last_before(versions.get(head["name"], []), part.first) or ""
        with text.row(part.first):
            yield from _values(head["name"], version, part.pairs("="))


def _values(name: str, version: str, pairs: Mapping[str, str]) -> list[ForeignValue]:
    if pairs["Verification"] != "SUCCESSFUL":
        raise ValueError(f"{name} was not verified ({pairs['Verification']})")
    ranks = int(pairs.get("Total processes", "0"))
    threads = int(pairs.get("Total threads") or pairs.get("Threads", "0"))
    model = next((other for other in OTHERS if other in version), "mpi" if ranks else "openmp" if threads else None)
    total, each = pairs["Mop/s total"], pairs.get("Mop/s/thread") or pairs.get("Mop/s/process")
    if each and (workers := max(ranks, threads)):
        tolerance = 0.006 * (workers + 1) + 1e-5 * number(total)
        expect_near(number(total), number(each) * workers, tolerance, f"the Mop/s of {name} contradict each other")
    each_rank = threads // max(1, ranks) or (None if model or not version else 1)  # serial
    size = pairs.get("class_npb") or pairs["Class"]
    about: Given = {"class": size, "model": model, "ranks": ranks or None, "threads": each_rank}
    benchmark, kernel = ("application.npb_" if name in OURS else "npb.") + name.lower().replace("-", "_"), name.lower()
    time = make(benchmark, kernel, "time", pairs["Time in seconds"], "s", "one run", about, note=THEIRS)
    rates = [("rate", total), *([("rate_each", each)] if each else [])]
    return [time, *(make(benchmark, kernel, m, word, "Mop/s", "one run", about, note=THEIRS) for m, word in rates)]
