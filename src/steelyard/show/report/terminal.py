"""All of a run for a terminal: the verdict, every finding with its evidence, and one compact table a benchmark."""

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from steelyard.judge import findings
from steelyard.judge.findings import remedies
from steelyard.measure.plan import mpi_in_effect
from steelyard.model import Benchmark, Evaluation, Finding, Metric, Result
from steelyard.model.evidence import sentence
from steelyard.model.mpi_settings import describe
from steelyard.model.words import plural
from steelyard.show.report import benchmark_table, case_tables, details, screen, sentences, values
from steelyard.show.report.lines import leading
from steelyard.show.report.lines import safe as _safe
from steelyard.show.report.verdict_marks import SIGNS
from steelyard.statistics.validity.trust import ORDER, is_marked

_LEVELS = {"serious": ("✕ SERIOUS", "red"), "notice": ("! NOTICE", "yellow"), "good": ("● GOOD", "green")}
MOST_EVIDENCE = 5  # lines of the evidence of a finding
MOST_REASONS = 4  # under a table
MOST_ROWS = 16  # a table; the report has the others


def show(evaluation: Evaluation, console: Console) -> None:
    """Print all of the evaluation. Nothing from a record is read as markup or as a control character."""
    console.print()
    for line in sentences.sentences(evaluation):
        console.print(_safe(line))
    for text in details.list_details(screen.summarise(evaluation), console.width):
        console.print(text, soft_wrap=True)
    if settings := mpi_in_effect.list_of_run(evaluation.run):
        console.print(_safe(f"Settings for the MPI besides the plan: {describe(settings)}."))
    if evaluation.findings:
        console.print(Text("\nFindings", style="bold"))
        for finding in findings.select_decided(findings.sort_findings(evaluation.findings)):
            _finding(finding, console)
        if unanswered := findings.describe_undecided(evaluation.findings):
            console.print(_safe(f"{unanswered} The report has the details.", "dim"))
    for name in evaluation.benchmarks:
        results = values.of_benchmark(evaluation, name)
        if results:
            _benchmark(evaluation, name, results, console)


def _finding(finding: Finding, console: Console) -> None:
    word, colour = _LEVELS[finding.level]
    console.print(Text.assemble((word, colour), " ", _safe(finding.seen, "bold")))
    count = leading(finding.evidence, console.width - 2, MOST_EVIDENCE)
    for line in finding.evidence[:count]:
        console.print(Padding(_safe(line), (0, 0, 0, 2)))
    if more := len(finding.evidence) - count:
        console.print(Padding(Text(f"and {plural(more, 'more line')} in the report", style="dim"), (0, 0, 0, 2)))
    for title, text in (("likely cause", finding.cause), ("what to try", remedies.describe(finding.remedy))):
        if text:
            console.print(Padding(Text.assemble((f"{title}: ", "dim"), _safe(text)), (0, 0, 0, 2)))


def _benchmark(evaluation: Evaluation, name: str, results: tuple[Result, ...], console: Console) -> None:
    benchmark = evaluation.benchmarks[name]
    console.print(Text.assemble("\n", _safe(benchmark.title, "bold"), (f"  {name}", "dim")))
    for metric, members in values.groups(benchmark, results):
        _group(evaluation, benchmark, metric, members, console)


def _group(
    evaluation: Evaluation,
    benchmark: Benchmark,
    metric: Metric | None,
    results: tuple[Result, ...],
    console: Console,
) -> None:
    chosen = _choose_rows(results)
    table = case_tables.of_results(evaluation, benchmark, chosen, metric)
    if fixed := benchmark_table.fixed(results):
        console.print(_safe(f"In every row: {fixed}.", "dim"))
    if some := ", ".join(values.phrase(n, v) for n, v in values.find_partly_present(results).items()):
        console.print(_safe(f"Where it applies: {some}.", "dim"))
    if metric and not table.limited:
        console.print(Text("Its limit on this machine is unknown.", style="dim"))
    console.print(benchmark_table.drawn(table))
    if len(results) > len(chosen):
        console.print(Text(f"{len(results) - len(chosen)} more results are in the report.", style="dim"))
    reasons = dict.fromkeys(
        (values.level(r), sentence(reason))
        for r in chosen
        for reason in values.evidence(r)[: None if values.level(r) == "FOREIGN" else 1]
    )
    for level, reason in list(reasons)[:MOST_REASONS]:
        console.print(Padding(_safe(f"{SIGNS[level]} {reason}", "dim"), (0, 0, 0, 2)))
    if len(reasons) > MOST_REASONS:
        console.print(Text(f"  {len(reasons) - MOST_REASONS} more reasons are in the report.", style="dim"))


def _choose_rows(results: tuple[Result, ...]) -> tuple[Result, ...]:
    """The rows to show: of many, evenly spread ones, and before these what is not CLEAN, the least trusted first."""
    if len(results) <= MOST_ROWS:
        return results
    doubted = [r for r in results if is_marked(values.level(r))]
    marked = sorted(doubted, key=lambda r: -ORDER.index(values.level(r)))[: MOST_ROWS // 2]
    clean = [r for r in results if not is_marked(values.level(r))]
    wanted = MOST_ROWS - len(marked)
    step = (len(clean) - 1) / max(1, wanted - 1)
    spread = [clean[round(index * step)] for index in range(wanted)] if clean else []
    shown = {id(result) for result in (*marked, *spread)}
    return tuple(result for result in results if id(result) in shown)
