"""The results with their names, times and writer, for all forms of other tools."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime

from steelyard.model import Evaluation, Parameters, Result
from steelyard.model.evidence import sentences
from steelyard.show.report import values


def list_measured(evaluation: Evaluation) -> Iterator[Result]:
    """Yields the results that have a value."""
    return (r for r in evaluation.results if values.level(r) != "INVALID" and r.metrics)


def name_case(result: Result) -> str:
    """Returns the benchmark with its kernel: 'memory.stream.triad', and 'network.pingpong' for its kernel of the same name."""
    return result.benchmark if result.benchmark.endswith(f".{result.kernel}") else f"{result.benchmark}.{result.kernel}"


def make_word(text: object) -> str:
    """Returns the text as one word without a bar: 'same cache' → 'same-cache'."""
    return "-".join(str(text).replace("|", " ").split()) or "-"


def spell_parameters(parameters: Parameters) -> str:
    """Returns the parameters on one line: 'threads=2, placement=same cache'."""
    return ", ".join(f"{name}={' '.join(str(value).split())}" for name, value in parameters.items())


def spell_evidence(result: Result) -> str:
    """Returns the evidence for the verdict of a result on one line; "" without any."""
    return " ".join(sentences(result.verdict.evidence).split())


def scale_percent(number: float | None, unit: str) -> float | None:
    """Returns a number as its unit says: Steelyard keeps 1 % as 0.01."""
    return number if number is None or unit != "%" else 100 * number


def name_writer(evaluation: Evaluation) -> str:
    """Returns the name and the version of this program: 'Steelyard 0.1.0'."""
    return f"Steelyard {evaluation.run.versions.get('steelyard', '')}".strip()


def find_start(evaluation: Evaluation) -> datetime | None:
    """Returns the moment at which the run began; None if the run does not say it."""
    with suppress(ValueError):
        moment = datetime.fromisoformat(evaluation.run.started.replace(" UTC", "+00:00"))
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return None


def find_end(evaluation: Evaluation, result: Result) -> datetime | None:
    """Returns the moment of the last sample of a result; without one, the moment at which the run began."""
    moments = [float(r.surroundings.ended) for r in result.attempts if r.surroundings.ended]
    with suppress(ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(max(moments), UTC)
    return find_start(evaluation)
