"""SPEC OMP2012, SPEC MPI2007 and SPEChpc 2021: the results as CSV, and those of OMP2012 and MPI2007 as text.

https://www.spec.org/hpg/
"""

import re

from steelyard.importing.formats import spec_cpu
from steelyard.importing.patterns import find_all
from steelyard.importing.text import Text
from steelyard.importing.values import Values

TOOL = "SPEC HPG"
DOUBTS, SYSTEM = spec_cpu.DOUBTS, spec_cpu.SYSTEM
STARTED = r'^"?Tested with SPEC.* on (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)'
SIGN = r"(?:\(R\)|®|\(TM\)|™)?"
SUITES = {
    "omp2012": rf"SPEC{SIGN} OMPG?{SIGN}2012 Result", "mpi2007": rf"SPEC{SIGN} MPI([ML]){SIGN}2007 Result",
    "hpc2021": rf"SPEChpc{SIGN} 2021 (Tiny|Small|Medium|Large) Result",
}  # fmt: skip
HEAD = (
    r"\s*Benchmarks\s+(?P<count>Threads|Ranks)\s+(?:Run Time|Seconds)\s+(?P<figure>Ratio)\s+(?:Threads|Ranks)\s+"
    r"(?:Run Time|Seconds)\s+Ra"
)
SCORE = rf"\s*(?:SPECompG{SIGN}|SPECmpi[ML]{SIGN})_(base|peak)20\d\d[ ,]+(\d[^\s,]*)"
SCORE_OF_HPC = rf'"?SPEChpc{SIGN} 2021_\w+_(base|peak)"?,(\d[^\s,]*)'


def read_text(text: Text) -> Values:
    """Yields time and ratio of each iteration, and the scores."""
    suite, common = _find_suite(text), text.words(compiler=spec_cpu.COMPILER)
    if suite.startswith("spec_hpc2021"):
        raise ValueError("Steelyard does not read the text of SPEChpc 2021. Import the result as CSV")
    for head, part in text.parts(HEAD):
        yield from spec_cpu.read_iterations(suite, head, part, common)
        yield from spec_cpu.read_scores(suite, part, SCORE, common)


def read_csv(text: Text) -> Values:
    """Yields the same of the table of all iterations, with more digits."""
    suite, common = _find_suite(text), text.words(compiler=spec_cpu.COMPILER)
    yield from spec_cpu.read_rows(suite, text, common)
    yield from spec_cpu.read_scores(suite, text, SCORE_OF_HPC if "hpc2021" in suite else SCORE, common)


def _find_suite(text: Text) -> str:
    """Returns the benchmark, such as "spec_hpc2021.tiny". ValueError without exactly one title of a suite."""
    pairs = ((suite, title) for suite, pattern in SUITES.items() for title in find_all(f"({pattern})", text.whole))
    found = {(suite, title[1].lower()) for suite, title in pairs}
    if len(found) != 1:
        raise ValueError("it needs exactly one title of a suite")
    ((suite, title),) = found
    size = re.findall(r"mpi([ml])|2021 (\w+)", title)
    return f"spec_{suite}.{''.join(size[0]) if size else 'omp'}"


READERS = {
    read_text: ("SPEC(R) OMP", "SPEC OMPG2012", "SPEC(R) MPI", "SPEC MPIM2007", "SPEC MPIL2007", "SPEChpc(TM) 2021"),
    read_csv: ('"SPEC OMP', '"SPEC MPI', '"SPEChpc'),
}
