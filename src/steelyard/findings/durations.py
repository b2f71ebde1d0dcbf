"""States how long the runs take that remedies advise, from the plans of these runs on the measured machine."""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache

from steelyard import numbers
from steelyard.errors import SteelyardError
from steelyard.model import Benchmark, Evaluation, Finding, Scalar
from steelyard.plan import EFFORTS, catalogue, estimate, length, sweep
from steelyard.units import duration

# A value ends before the full stop or the bracket of its sentence.
_OPTION = r" --(?:preset|only|set|toolchain|budget|mpi|hosts|system|wait) (?:'[^']*'|\S*[^\s.,;:)])"
RUN = re.compile(rf"steelyard (?:run|scale [\w.]*\w)(?:{_OPTION})*")
ROUGH = 600  # seconds: a longer time is rounded to minutes


def state(findings: Iterable[Finding], evaluation: Evaluation) -> tuple[Finding, ...]:
    """Adds to each run that a remedy advises how long it takes: 'steelyard run --preset full (takes about 7 h 20 min)'."""
    benchmarks = cache(lambda: {**evaluation.benchmarks, **catalogue.find()})
    timed = cache(lambda command: command + _words(command, evaluation, benchmarks()))
    return tuple(replace(f, remedy=add(f.remedy, timed)) if "steelyard" in f.remedy else f for f in findings)


def add(remedy: str, timed: Callable[[str], str]) -> str:
    """Replaces each run that a text advises."""
    return RUN.sub(lambda match: timed(match[0]), remedy)


def _words(command: str, evaluation: Evaluation, benchmarks: dict[str, Benchmark]) -> str:
    try:
        seconds = _seconds(shlex.split(command)[1:], evaluation, benchmarks)
    except SteelyardError:  # a run that cannot be planned for this machine
        return ""
    rounded = 60 * round(seconds / 60) if seconds > ROUGH else max(1, round(seconds))
    return f" (takes about {duration(rounded)})"


def _seconds(words: list[str], evaluation: Evaluation, benchmarks: dict[str, Benchmark]) -> float:
    """Returns the expected seconds of `run …` or `scale BENCHMARK …` on the measured machine, in the condition of this run.

    UsageError if it is refused.
    """
    run, first = evaluation.run, 2 if words[0] == "scale" else 1
    options: dict[str, list[str]] = {}
    for name, value in zip(words[first::2], words[first + 1 :: 2], strict=False):
        options.setdefault(name, []).append(value)
    if "--budget" in options:
        return numbers.length_of_time(options["--budget"][-1], "--budget")
    settings: dict[str, list[Scalar]] = {}
    for setting in options.get("--set", []):
        name, _, text = setting.partition("=")
        settings.setdefault(name, []).extend(numbers.setting(name, value) for value in text.split(",") if value)
    effort = EFFORTS[options.get("--preset", ["quick"])[-1]]
    chosen: Mapping[str, Benchmark] = catalogue.choose(
        benchmarks, words[1:2] if words[0] == "scale" else options.get("--only", [])
    )
    if words[0] == "scale":
        shape = sweep.shape(sweep.wanted(words[1], None, None, False, ()))
        chosen, settings_ = shape(chosen, run.machine, effort, settings)
        settings = {name: list(values) for name, values in settings_.items()}
    toolchains = len(options.get("--toolchain", [""]))
    used = (str(r.parameters.get("mpi", "MPI")) for r in evaluation.results if "ranks" in r.parameters)
    seconds, records = estimate(chosen, run.machine, effort, settings, toolchains, [*run.site.mpis, *used][:1])
    free = min((had.full for had in evaluation.condition.had.values()), default=1.0)
    return length.lengthened(effort.name, seconds, toolchains, free) + length.evaluating_records(records)
