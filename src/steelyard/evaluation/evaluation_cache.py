"""The evaluations in the user's cache. The key is a hash of the run's files and of the rules that judge them.

The cache is not in the folder of the run, since that may come from another user, and an evaluation must follow from its records.
"""

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from steelyard import doors
from steelyard.evaluation import energy
from steelyard.model import (
    Benchmark,
    Condition,
    Count,
    Evaluation,
    Finding,
    Machine,
    Parameters,
    Result,
    Run,
    Value,
    Verdict,
)
from steelyard.model.plain import other
from steelyard.model.sensor import Power
from steelyard.records import result_cache

ENTRY = "judgement"  # among those of `result_cache`


@dataclass(frozen=True, slots=True)
class _Rejudged:
    """A record (by its index in the run) whose verdict the other records of the run change."""

    record: Count
    verdict: Verdict
    aside: tuple[Count, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Summary:
    """A result. Its records are indices in the run."""

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
    condition: Condition


@contextlib.contextmanager
def hash_run(path: Path) -> Iterator[Future[str]]:
    """Computes the key of the run in the folder `path` in a second thread, while the caller reads the files of the run."""
    with ThreadPoolExecutor(1) as beside:
        yield beside.submit(result_cache.key, path)


def make_key(path: Path, own: str, benchmarks: Mapping[str, Benchmark]) -> str:
    """Returns the key of everything that the evaluation of the run depends on; "" if `own`, the key of the run, is ""."""
    if not own:
        return ""
    house = result_cache.HOUSE
    beside = {Path(s.path).parent for b in benchmarks.values() for s in b.sources}
    strange = {folder for folder in beside if house not in (folder, *folder.parents)}
    # For a benchmark from outside: the files beside it and one folder above, no deeper, since that may be anything.
    files = {f for folder in strange for near in (folder, folder.parent) for f in near.glob("*.py")}
    # The rules that a site has installed.
    files |= {f for folder in doors.installed("findings").values() for f in folder.rglob("*.py")}
    follows = repr((own, path, sorted(benchmarks), result_cache.stamps(files)))
    return hashlib.blake2b(follows.encode(), digest_size=20).hexdigest()


def load(name: str, run: Run, benchmarks: Mapping[str, Benchmark], readings: Power) -> Evaluation | None:
    """Returns the evaluation of the run under that key, or None if the cache has none that fits."""
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
    extended = energy.add_metrics(benchmarks, results, readings)
    return Evaluation(
        run=replace(run, machine=kept.machine, records=tuple(records)),
        benchmarks=extended,
        results=results,
        findings=kept.findings,
        power=readings,
        condition=kept.condition,
    )


def save(name: str, judged: Evaluation, run: Run) -> None:
    """Saves the evaluation of the run. Does nothing if the cache cannot be written."""
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
    kept = _Kept(judged.run.machine, tuple(rejudged), tuple(results), judged.findings, judged.condition)
    with contextlib.suppress(UnicodeEncodeError):
        result_cache.save(name, ENTRY, msgspec.msgpack.encode(kept, enc_hook=other))
