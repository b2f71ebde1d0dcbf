"""OpenMetrics text: a sample for each metric of each result, at the moment at which the run began.

https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md

The labels are the run, the system, the host, the benchmark, the kernel, the verdict and the parameters; of an imported value
also the statistic of its tool. The ends of the 95 % intervals are families of their own, `…_low_…` and `…_high_…`.
`promtool tsdb create-blocks-from openmetrics` stores the samples in Prometheus.
"""

import math
import re
from collections.abc import Iterator, Mapping

from steelyard.model import Evaluation, Result
from steelyard.model.openmetrics import escape, head
from steelyard.model.scope import words
from steelyard.show.report import values
from steelyard.show.report.exports._exported import find_start, list_measured

_MANY = {
    "B": "bytes", "s": "seconds", "Hz": "hertz", "W": "watts", "J": "joules", "J s": "joule_seconds", "%": "ratio",
    "ns": "nanoseconds", "1": "", "": "",
}  # fmt: skip
_ONE = {"s": "second", "J": "joule"}
EVIDENCE = "steelyard_results"  # the number of results by verdict


def parts(evaluation: Evaluation) -> Iterator[str]:
    """Yields the families of metrics, each with all its samples."""
    moment = find_start(evaluation)
    at = f" {moment.timestamp():.3f}" if moment else ""
    families: dict[tuple[str, str], dict[str, str]] = {}  # by name and help: the values by their labels
    for result in list_measured(evaluation):
        common = _make_labels(evaluation, result)
        for name, value in result.metrics.items():
            labels = common + (f',statistic="{escape(value.statistic)}"' if value.statistic else "")
            labels += f',scope="{escape(words(value.scope))}"' if value.scope else ""
            word = name_unit(value.unit)
            ends = {"": value.value, "_low": value.low, "_high": value.high}
            for end, number in ends.items():
                if number is not None and math.isfinite(number):
                    family = _make_name(f"steelyard_result_{name}{end}") + (f"_{word}" if word else "")
                    families.setdefault((family, word), {}).setdefault(labels, repr(float(number)))
    for (family, word), samples in families.items():
        yield head(family, "gauge", word, f"Results of Steelyard in {word or 'no unit'}.")
        yield from (f"{family}{{{labels}}} {number}{at}\n" for labels, number in samples.items())
    yield head(EVIDENCE, "gauge", "", "Number of results by verdict.")
    run = f'run="{escape(evaluation.run.id)}"'
    for level, count in values.counts(evaluation.results).items():
        yield f'{EVIDENCE}{{{run},verdict="{level}"}} {count}{at}\n'
    yield "# EOF\n"


def name_unit(unit: str) -> str:
    """Returns the unit as words of a name: 'B/s' → 'bytes_per_second', 'particle-step/s' → 'particle_steps_per_second'."""
    number, _, per = unit.partition("/")
    words = [_MANY.get(number, f"{_make_name(number)}s"), f"per_{_ONE.get(per, _make_name(per))}" if per else ""]
    return "_".join(filter(None, words))


def _make_name(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9]+", "_", name).strip("_")


def _make_labels(evaluation: Evaluation, result: Result) -> str:
    machine = evaluation.run.machine
    ours = {  # and "statistic"
        "run": evaluation.run.id,
        "system": machine.system,
        "host": machine.host,
        "benchmark": result.benchmark,
        "kernel": result.kernel,
        "verdict": values.level(result),
    }
    given: Mapping[str, object] = {
        (name if name not in (*ours, "statistic", "scope") else f"parameter_{name}"): value
        for parameter, value in result.parameters.items()
        if (name := re.sub(r"^(?=[0-9])", "p", _make_name(parameter)))
    }
    return ",".join(f'{name}="{escape(str(value))}"' for name, value in {**ours, **given}.items())
