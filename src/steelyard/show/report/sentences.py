"""The verdict on a run in at most five sentences, made from its main figures and findings."""

from collections import Counter

from steelyard.judge.findings import select_foremost
from steelyard.judge.findings.remedies import describe
from steelyard.measure.machine.limits import limiting_quota
from steelyard.measure.machine.memory_nodes import main_nodes
from steelyard.model import Evaluation, Finding, Imported, Machine, units
from steelyard.model.words import joined, plural
from steelyard.show.report import condition, values
from steelyard.show.report.headline import Headline, headlines
from steelyard.statistics.validity.trust import is_marked

# Above this share of its limit a memory is as good as full: STREAM reaches 80 to 90 % of the modules' rate on
# well-tuned machines, since refresh and bus turnarounds take the rest.
NEAR_THE_LIMIT = 0.75
MOST_TOOLS = 6  # that a sentence names


def sentences(evaluation: Evaluation) -> tuple[str, ...]:
    """Returns the verdict in at most five sentences, each only if there are data for it."""
    main = {headline.name: headline for headline in headlines(evaluation)}
    parts = (
        machine(evaluation),
        trust(evaluation),
        memory(main),
        locality(main, evaluation.findings),
        _advice(main, evaluation.findings),
    )
    return tuple(sentence for sentence in parts if sentence)


def machine(evaluation: Evaluation) -> str:
    """Returns a sentence on the machine: its name, processor, cores and memory, and one on its GPUs and other accelerators."""
    here = evaluation.run.machine
    if evaluation.run.imported:
        return _describe_imported(evaluation.run.imported, here.system)
    sockets = len({core.socket for core in here.cores})
    cores = plural(len(here.cores), "core") if here.cores else plural(len(here.cpus), "processor")
    where = f"in {plural(sockets, 'socket')} and {plural(len(main_nodes(here.nodes)), 'NUMA node')}"
    size = f"{cores} {where}" if here.nodes and sockets else cores
    quota = f", limited to the time of {limit:g} cores" if (limit := limiting_quota(here)) else ""
    memory = f", with {units.binary_size(here.memory)} of memory" if here.memory else ""
    processor = here.processor or "an unnamed processor"
    together = max((result.hosts for result in evaluation.results), default=0)
    kind = f"one of {together} machines that were measured together," if together > 1 else "a machine"
    if (container := here.setting("container").value or "none") != "none":
        kind = f"a container{f' ({container})' if container != 'unnamed' else ''} on {kind}"
    return f"{here.host} is {kind} with {processor}: {size}{quota}{memory}.{_describe_devices(here)}"


def _describe_devices(here: Machine) -> str:
    """Returns " Accelerators: 8 × NVIDIA H200 (140 GiB each)."; "" without any. The processor is no accelerator."""
    counts = Counter((device.name, device.memory) for device in here.devices if device.kind != "CPU")
    named = [
        f"{f'{count} × ' if count > 1 else ''}{name} ({units.binary_size(memory)}{' each' if count > 1 else ''})"
        for (name, memory), count in counts.items()
    ]
    return f" {'Accelerator' if sum(counts.values()) == 1 else 'Accelerators'}: {joined(named)}." if named else ""


def _describe_imported(imported: Imported, system: str) -> str:
    names = sorted(imported.tools, key=lambda name: (-imported.tools[name], name))
    more = [f"{len(names) - MOST_TOOLS} more"] if len(names) > MOST_TOOLS else []
    return (
        f"{plural(len(imported.values), 'value')} of other tools on {system}: {joined([*names[:MOST_TOOLS], *more])}."
    )


def memory(main: dict[str, Headline]) -> str:
    """Returns a sentence on the memory: its bandwidth, its limit, and its latency."""
    parts = []
    if triad := main.get("triad"):
        text = f"Triad moves {triad.shown.marked}" if triad.shown.value else "The Triad bandwidth is INVALID"
        text += f" ({triad.conditions})" if triad.conditions else ""
        if triad.shown.share is not None:
            source = f" ({triad.shown.limit_source})" if triad.shown.limit_source else ""
            text += f", {values.percent(triad.shown.share)} of the limit of {triad.shown.limit}{source}"
            text += " (one of the two is wrong)" if triad.shown.above else ""
        parts.append(text)
    if latency := main.get("latency"):
        missing = "that misses every cache" if "within" not in latency.conditions else f"({latency.conditions})"
        cost = f"one access {missing} takes {latency.shown.marked}"
        parts.append(cost if latency.shown.value else "the latency of memory is INVALID")
    sentence = ", and ".join(parts)
    return f"{sentence[0].upper()}{sentence[1:]}." if sentence else ""


def locality(main: dict[str, Headline], findings: tuple[Finding, ...]) -> str:
    """The two corners of APEX-MAP, and what the findings say on tolerance for Triad, where they can."""
    corners = []
    for name, place in (("G", "at the worst locality (G)"), ("L", "at the best (L)")):
        if name in main:
            conditions = f", {main[name].conditions}" if name == "L" and main[name].conditions else ""
            corners.append(f"{main[name].shown.marked} {place.replace(')', conditions + ')')}")
    sentence = f"An access costs {' and '.join(corners)}." if corners else ""
    triad = main["triad"].result.benchmark if "triad" in main else ""
    judged = next((f.seen for f in findings if f.rule == "tolerance" and f.benchmark == triad), "")
    return " ".join(part for part in (sentence, judged) if part)


def trust(evaluation: Evaluation) -> str:
    """Returns a sentence on the number of reliable results."""
    total = len(evaluation.results)
    if not total:
        return values.NO_RESULT
    counts = values.counts(evaluation.results)
    unfinished = "" if evaluation.run.finished else " The run is not finished."
    described = condition.describe(evaluation.condition, counts)
    if evaluation.condition.foreign or condition.none_is_valid(counts):
        return " ".join(described) + unfinished
    if evaluation.condition.causes:
        precision = condition.describe_known(condition.known(evaluation.results))
        return " ".join((*described, precision)) + unfinished
    if counts["CLEAN"] == total:
        all_of_them = f"All {total} results are" if total > 1 else "The only result is"
        return f"{all_of_them} CLEAN: Steelyard detected no disturbance.{unfinished}"
    bad = joined(f"{count} {level}" for level, count in counts.items() if level != "CLEAN" and count)
    little = (
        " UNSETTLED results were not disturbed, but too few data are known to rely on them."
        if counts["UNSETTLED"]
        else ""
    )
    return (
        f"Of {total} results, {counts['CLEAN']} are CLEAN and reliable, {bad}. These are marked "
        f"wherever they are shown.{little}{unfinished}"
    )


def _advice(main: dict[str, Headline], findings: tuple[Finding, ...]) -> str:
    triad = main.get("triad")
    limits = ""
    if triad and triad.shown.share is not None and not (triad.shown.above or is_marked(triad.shown.level)):
        near = triad.shown.share >= NEAR_THE_LIMIT
        limits = "The memory itself is the limit" if near else "Something other than the memory's own rate is the limit"
    first = next((kind.finding for kind in select_foremost(findings) if kind.finding.level != "good"), None)
    if first is None:
        return f"{limits}; no finding needs action." if limits else ""
    what = f"{_strip(first.seen)} – {_lower(_strip(describe(first.remedy)))}" if first.remedy else _strip(first.seen)
    return f"{limits}; the most important finding: {what}." if limits else f"The most important finding: {what}."


def _strip(sentence: str) -> str:
    return sentence.strip().rstrip(".")


def _lower(sentence: str) -> str:
    return sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]
