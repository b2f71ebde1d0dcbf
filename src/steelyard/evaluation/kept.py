"""What was judged once is kept in the user's cache, under a hash of all that it follows from: the run's files and the rules.

Not in the run's folder: that may be another's, and a judgement must follow from the records that are shown beside it.
"""

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from steelyard.evaluation import energy
from steelyard.model import Benchmark, Count, Evaluation, Finding, Machine, Parameters, Result, Run, Value, Verdict
from steelyard.model.plain import other
from steelyard.model.sensor import Power
from steelyard.records import result_cache

ENTRY = "judgement"  # among those of `result_cache`


@dataclass(frozen=True, slots=True)
class _Rejudged:
    """A record (by its place in the run) that is worth something else beside all the others than it was when it was measured."""

    record: Count
    verdict: Verdict
    aside: tuple[Count, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Summary:
    """A result, whose records are named by their places."""

    benchmark: str
    kernel: str
    parameters: Parameters
    records: tuple[Count, ...]
    metrics: Mapping[str, Value]
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class _Kept:
    machine: Machine
    rejudged: tuple[_Rejudged, ...]
    results: tuple[_Summary, ...]
    findings: tuple[Finding, ...]


@contextlib.contextmanager
def hashed(path: Path) -> Iterator[Future[str]]:
    """The key of the run in the folder `path`, made beside what is done within: that reads the run's files, too."""
    with ThreadPoolExecutor(1) as beside:
        yield beside.submit(result_cache.key, path)


def key(path: Path, own: str, benchmarks: Mapping[str, Benchmark]) -> str:
    """Of everything that the judgement of the run in the folder `path` follows from; `own` is the run's. "" where that is ""."""
    if not own:
        return ""
    house = result_cache.HOUSE
    beside = {Path(s.path).parent for b in benchmarks.values() for s in b.sources}
    strange = {folder for folder in beside if house not in (folder, *folder.parents)}
    # Of a benchmark from outside the files beside it, and those a folder above: no deeper, since that may be anything.
    files = {f for folder in strange for near in (folder, folder.parent) for f in near.glob("*.py")}
    follows = repr((own, path, sorted(benchmarks), result_cache.stamps(files)))
    return hashlib.blake2b(follows.encode(), digest_size=20).hexdigest()


def load(name: str, run: Run, benchmarks: Mapping[str, Benchmark], reported: Power) -> Evaluation | None:
    """What is kept under that key, for the run and what its sensors said; None where nothing is, or nothing that fits."""
    file = result_cache.find(name, ENTRY)
    if not file:
        return None
    try:
        kept = msgspec.msgpack.decode(file.read_bytes(), type=_Kept)
        records = list(run.records)
        for one in kept.rejudged:
            records[one.record] = replace(records[one.record], verdict=one.verdict, aside=one.aside)
        results = tuple(
            Result(
                benchmark=r.benchmark,
                kernel=r.kernel,
                parameters=r.parameters,
                records=tuple(records[i] for i in r.records),
                metrics=r.metrics,
                verdict=r.verdict,
            )
            for r in kept.results
        )
    except (OSError, msgspec.MsgspecError, IndexError):
        return None
    known = energy.extended(benchmarks, results, reported)
    return Evaluation(
        run=replace(run, machine=kept.machine, records=tuple(records)),
        benchmarks=known,
        results=results,
        findings=kept.findings,
        power=reported,
    )


def save(name: str, judged: Evaluation, run: Run) -> None:
    """Keeps what was judged of the run as it was read; where nothing can be written nothing is."""
    places = {id(record): place for place, record in enumerate(judged.run.records)}
    rejudged = [
        _Rejudged(place, new.verdict, new.aside)
        for place, (old, new) in enumerate(zip(run.records, judged.run.records, strict=True))
        if new is not old
    ]
    results = [
        _Summary(
            benchmark=r.benchmark,
            kernel=r.kernel,
            parameters=r.parameters,
            records=tuple(places[id(x)] for x in r.records),
            metrics=r.metrics,
            verdict=r.verdict,
        )
        for r in judged.results
    ]
    kept = _Kept(judged.run.machine, tuple(rejudged), tuple(results), judged.findings)
    with contextlib.suppress(UnicodeEncodeError):
        result_cache.save(name, ENTRY, msgspec.msgpack.encode(kept, enc_hook=other))
