"""A benchmark on the terminal: its parameters with the values of each preset, and its metrics."""

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from steelyard.measure.plan import EFFORTS
from steelyard.measure.plan.catalogue import parameter_values
from steelyard.model import Benchmark, Machine, Scalar
from steelyard.show.report.json_output import print_json

MOST_VALUES = 8  # values of a parameter in a table; --json prints all
SHOWN = ("quick", "full")


def show(benchmarks: Iterable[Benchmark], machine: Machine, as_json: bool) -> None:
    """Prints for each benchmark its parameters with their values in the presets, and its metrics with their units."""
    pages = []
    for benchmark in benchmarks:
        values = {preset: parameter_values(benchmark, machine, effort) for preset, effort in EFFORTS.items()}
        names = dict.fromkeys(name for preset in values.values() for name in preset)
        parameters = {name: {preset: list(values[preset].get(name, ())) for preset in values} for name in names}
        if as_json:
            metrics = [{"name": m.name, "unit": m.unit, "better": m.better} for m in benchmark.metrics]
            about = {"name": benchmark.name, "title": benchmark.title, "summary": benchmark.summary}
            pages.append({**about, "parameters": parameters, "metrics": metrics})
        else:
            _print_page(benchmark, parameters)
    if as_json:
        print_json(pages)


def _print_page(benchmark: Benchmark, parameters: dict[str, dict[str, list[Scalar]]]) -> None:
    console = Console(highlight=False)
    console.print(f"[bold]{escape(benchmark.name)}[/]: {escape(benchmark.title)}")
    console.print(escape(benchmark.summary), "\n")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("parameter", style="bold", no_wrap=True)
    for preset in SHOWN:
        table.add_column(f"values ({preset})", overflow="fold", ratio=1)
    for name, values in parameters.items():
        table.add_row(name, *(escape(_shorten(values[preset])) for preset in SHOWN))
    console.print(table)
    console.print("Metrics: " + ", ".join(f"{m.name} \\[{m.unit}]" for m in benchmark.metrics))
    example = next((n for n in parameters if len(parameters[n]["full"]) > 1), None)
    if example:
        first = parameters[example]["full"][0]
        console.print(
            f"Choose values with: steelyard run --only {benchmark.name} --set {example}={first}\n", soft_wrap=True
        )


def _shorten(values: Sequence[Scalar]) -> str:
    """Returns all values, or the first ones and the last."""
    numbers = [value for value in values if isinstance(value, int | float)]
    words = [str(value) for value in (sorted(numbers) if len(numbers) == len(values) else values)]
    if len(words) > MOST_VALUES:
        words = [*words[: MOST_VALUES - 2], "…", f"{words[-1]} ({len(words)} values)"]
    return ", ".join(words) or "–"
