"""What stands above an output: the command that started the program (nodes, ranks, threads, settings), or a title."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any
from zlib import crc32

from steelyard.importing import patterns
from steelyard.importing.name_facts import COUNTED, COUNTS, JOB, are_jobs, read_facts
from steelyard.importing.text import Text
from steelyard.measure.machine.hostlist import compress, expand
from steelyard.model import Scalar

WORDS = ("srun", "mpirun", "mpiexec", "aprun", "jsrun", "orterun", "prun", "ibrun", "lrun", "flux")
LAUNCHERS = rf"(?:{'|'.join(WORDS[:-1])}|mpiexec\.hydra|flux (?:mini )?(?:run|submit))"
COMMAND = rf"(?:.{{0,300}}[\s$#>;&`'\"/:=])?{LAUNCHERS}\s+(?:\S+=\S*|-{{1,2}}[A-Za-z]|\S*/).*"
MOST, LONGEST = 1000, 2000  # commands of a file, and letters of each
MOST_WORDS = 100  # letters of a parameter
_OPTIONS = {  # by launcher; "" for all others. Of several options of one meaning the first one counts.
    "srun": {
        "nodes": "-N|--nodes", "ranks": "-n|--ntasks", "ranks_per_node": "--ntasks-per-node", "threads": "-c|--cpus-per-task",
    },
    "flux": {
        "nodes": "-N|--nodes", "ranks": "-n|--ntasks", "ranks_per_node": "--tasks-per-node", "threads": "-c|--cores-per-task",
    },
    "aprun": {"ranks": "-n", "ranks_per_node": "-N", "threads": "-d"},
    "jsrun": {"ranks": "-p|--np", "threads": "-c|--cpu_per_rs"},
    "lrun": {"nodes": "-N", "ranks": "-n", "ranks_per_node": "-T"},
    "": {"ranks": "-np|-n|--np", "ranks_per_node": "-ppn|-perhost|-N|--ntasks-per-node|-npernode"},
}  # fmt: skip
_TITLE = re.compile(r"(?=.*[^\W\d])(?:#{1,6} .{1,150}|[^|]{3,150}:\**\s*)")
MOST_BLANK, LONGEST_TITLE = 4, 80  # lines between a title and an output, and letters of one
# Dates, times, addresses, and of how many runs a line counts one: they name no experiment.
_PASSING = re.compile(
    r"\b\d{4}-\d\d-\d\d\b|\b\d\d?:\d\d(?::\d\d(?:\.\d+)?)?\b|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?[ \t]+"
    r"|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*[ \t]+\d\d?\b|\b(?:19|20)\d\d\b|\b0x[0-9a-f]+\b"
    r"|(?<=\d)(?: ?/ ?| of )\d+"
)
_FLAGS = (
    "--exclusive", "--exact", "--overlap", "--label", "-l", "-v", "--oversubscribe", "--allow-run-as-root", "--report-bindings",
)  # fmt: skip
_THREADS = re.compile(r"\bOMP_NUM_THREADS[= ](\d{1,5})\b")
_SETTING = r"[A-Z][A-Z0-9_]*=[^\s/]+"
# Endings of the names of variables that hold no setting.
_PERSONAL = ("PATH", "HOME", "HOST", "DIR", "FILE", "ID", "USER", "NODELIST", "PORT")
_FLUX_MARK, MOST_RANKS = "START OF JOBSPEC", 10**9
_FLUX_JOB = rf"(?m)^{_FLUX_MARK}[ \t]*\r?\n(\{{.*\}})"
_CHANNEL = r"CALIPER: \(0\): Creating channel ([\w.-]{1,60})"

_COUNTER = re.compile(rf"(?<![\w-])(?:{'|'.join((*sorted(COUNTED), 'step'))})s?[\W_]*\d+", re.IGNORECASE)


def find_commands(text: Text) -> list[tuple[int, str]]:
    """Returns the lines that start a parallel program, each with its index in the text."""
    if not patterns.find_words(WORDS, text.whole):
        return []
    found = patterns.match_lines(COMMAND, text.lines, text.whole)
    return [(at, match.string.strip()[:LONGEST]) for match, at in found][:MOST]


def find_titles(text: Text, marks: Sequence[str]) -> list[tuple[int, str]]:
    """Returns the lines right above the outputs of a tool that name them, each with its index.

    They are lines such as "On a big core:" or "## 2 nodes", else lines that are built alike above each output, such as
    "=== 4 threads ===", and differ in more than a date, a counter or the number of a job.
    """
    begins = [at for at, line in enumerate(text.lines) if any(mark in line for mark in marks)][:MOST]
    found: dict[int, str] = {}
    for begin in begins:
        above = _find_words_above(text.lines, begin)
        if above and _TITLE.fullmatch(text.lines[above[0]]):
            found[above[0]] = text.lines[above[0]].strip(" \t#*:")
    titles = [*dict.fromkeys(found.values())]
    return sorted(found.items()) if len(titles) > 1 and not _count_only(titles) else _find_alike(text, begins)


def has_counters(lines: Sequence[str], begins: Sequence[int]) -> bool:
    """Returns whether lines such as "run 1" and "run 2" stand right above the lines of these indexes."""
    above = [next((lines[near] for near in _find_words_above(lines, at)), "") for at in begins]
    return len({*above}) == len(above) and _count_only(above)


def _find_alike(text: Text, begins: Sequence[int]) -> list[tuple[int, str]]:
    """Returns the first lines above outputs that begin with the same heading as the first one, with what differs above them."""
    heads = [at for at in begins if _hide_digits(text.lines[at]) == _hide_digits(text.lines[begins[0]])]
    above = [_find_words_above(text.lines, at) for at in heads]
    named: list[list[str]] = [[] for _ in heads]
    first = [*heads]
    for places in zip(*above, strict=False) if len(heads) > 1 else ():
        lines = [text.lines[at] for at in places]
        alike = len({re.sub(r"[\w.]+", "w", line.strip()) for line in lines}) == 1
        # Lines such as "first run (no cache)" and "second run" stand right above their outputs.
        adjacent = [*places] == [at - 1 for at in heads]
        if not alike and not (adjacent and _share_a_word(lines)):
            break
        first = [*places]
        words = [" ".join(_PASSING.sub(" ", line).split()) for line in lines]
        if len({*words}) > 1 and not _count_only(words):
            named = [[*own, word] for own, word in zip(named, words, strict=True)]
    return [(at, " ".join(reversed(own))) for at, own in zip(first, named, strict=True) if own]


def _share_a_word(lines: Sequence[str]) -> bool:
    words = [{*re.findall(r"[^\W\d_]{3,}", line.casefold())} for line in lines]
    return bool(set.intersection(*words)) and max(map(len, lines)) <= LONGEST_TITLE


def _find_words_above(lines: Sequence[str], begin: int) -> list[int]:
    """Returns the indexes of the lines with words right above a line, the nearest one first."""
    above = range(begin - 1, max(-1, begin - 1 - MOST_BLANK), -1)
    return [at for at in above if _has_words(lines[at])]


def _hide_digits(line: str) -> str:
    return re.sub(r"\d+", "#", line)


def _count_only(lines: Sequence[str]) -> bool:
    """Returns whether the lines differ in one number behind a word such as "run" only, or in those of jobs and processes."""
    if len({*map(_hide_digits, lines)}) == 1 and len(_COUNTER.findall(lines[0])) == 1:
        return True
    numbers = [re.findall(rf"\d{{{JOB},}}", line) for line in lines]
    rest = {re.sub(rf"\d{{{JOB},}}", "#", line) for line in lines}
    return len(rest) == 1 and are_jobs([number for own in numbers for number in own])


def _has_words(line: str) -> bool:
    return bool(line.strip(" \t=-*")) and not line.lstrip().startswith(("```", "~~~"))


def read_job_record(content: str) -> tuple[Mapping[str, Scalar], str, Mapping[str, str]]:
    """Returns what the record of Flux and the log of Caliper say around an output. Of several records none counts.

    It is the nodes and ranks, the host if the user asked for one, and conditions: several hosts, and the channels of Caliper.
    """
    channels = {match[1] for match in patterns.find_all(_CHANNEL, content)} if "CALIPER: (0)" in content else set()
    settings = ",".join(sorted(channel for channel in channels if not channel.startswith("builtin")))
    conditions = {"caliper": shorten(settings)} if settings else {}
    records = [*patterns.find_all(_FLUX_JOB, content)] if _FLUX_MARK in content else []
    try:
        (record,) = records
        job = json.loads(record[1])
        (task,) = job["tasks"]
        nodes, slots = _count_resources(job["resources"])
        ranks = int(task["count"].get("total", slots * int(task["count"].get("per_slot", 0))))
        given = job["attributes"]["system"].get("constraints", {}).get("hostlist", ())
        hosts = sorted({host for text in given for host in expand(text)})
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return {}, "", conditions  # no record, several ones or a damaged one
    counts = {name: number for name, number in (("nodes", nodes), ("ranks", ranks)) if 0 < number < MOST_RANKS}
    several = {"hosts": shorten(compress(hosts))} if len(hosts) > 1 else {}
    return counts, hosts[0] if len(hosts) == 1 else "", conditions | several


def _count_resources(resources: Sequence[Mapping[str, Any]], times: int = 1) -> tuple[int, int]:
    """Returns the numbers of nodes and of slots that a job of Flux asks for; 0 if it does not say."""
    nodes = slots = 0
    for one in resources:
        number = times * int(one["count"])
        below = _count_resources(one.get("with", ()), number)
        nodes += number if one["type"] == "node" else below[0]
        slots += number if one["type"] == "slot" else below[1]
    return nodes, slots


@lru_cache(maxsize=10_000)
def read_launch(command: str) -> Mapping[str, Scalar]:
    """Returns what a command states of nodes, ranks, ranks_per_node and threads."""
    launcher = (re.findall(rf"\b{LAUNCHERS}(?=\s)", command) or [""])[0]
    words = _cut_at_program(command.partition(launcher)[2]) if launcher else ""
    stated: dict[str, Scalar] = {}
    for meaning, options in _OPTIONS.get(launcher.partition(" ")[0], _OPTIONS[""]).items():
        if found := re.findall(rf"(?:^|\s)(?:{options})[= ]*(\d{{1,9}})(?=\s|$)", words):
            stated[meaning] = int(found[0])
    if threads := _THREADS.search(command):
        stated["threads"] = int(threads[1])
    nodes, each = stated.get("nodes"), stated.get("ranks_per_node")
    if isinstance(nodes, int) and isinstance(each, int):
        stated.setdefault("ranks", nodes * each)
    return stated


def _cut_at_program(words: str) -> str:
    """Returns the options of a launcher, without the program and its own options."""
    before = ""
    for word in re.finditer(r"\S+", words):
        takes_value = before.startswith("-") and "=" not in before and before not in _FLAGS
        if "/" in word[0] and not word[0].startswith("-") and "=" not in word[0] and not takes_value:
            return words[: word.start()]
        before = word[0]
    return words


@lru_cache(maxsize=10_000)
def list_settings(command: str) -> frozenset[str]:
    """Returns the environment variables that a command sets, without those that name a person, a place or a job."""
    return frozenset(
        word
        for word in (found[0] for found in patterns.find_all(_SETTING, command))
        if not word.partition("=")[0].endswith(_PERSONAL)
    )


def name_differences(commands: Sequence[str], name: str = "command") -> Sequence[Mapping[str, Scalar]]:
    """Returns parameters in which the commands differ: numbers of the launch, or the differing words under this name."""
    launches = [read_launch(command) or _read_counts(command) for command in commands]
    names = {key for launch in launches for key in launch if any(other.get(key) != launch[key] for other in launches)}
    numbers = [{key: launch[key] for key in sorted(names) if key in launch} for launch in launches]
    words = [[*_list_words(command)] for command in commands]
    common = set(words[0]).intersection(*words)
    rest = [" ".join(word for word in line if word not in common) for line in words]
    if len({*map(str, numbers)}) == len({*commands}) or not any(rest):
        return numbers
    return [{name: shorten(text) or "the shortest"} for text in rest]


def _read_counts(title: str) -> Mapping[str, Scalar]:
    """Returns the numbers of a title such as "=== 4 nodes, 2 threads ===" by their meaning."""
    facts = read_facts("_".join(title.split()))
    return {fact.meaning: fact.value for fact in facts if fact.meaning in COUNTS and not fact.lettered}


def shorten(text: str) -> str:
    """Returns the text as a parameter. Texts that are cut stay different: they end with a check sum."""
    return text if len(text) <= MOST_WORDS else f"{text[: MOST_WORDS - 9]}…{crc32(text.encode()):08x}"


def _list_words(command: str) -> Iterator[str]:
    """Yields the words; an option and its value are one."""
    option = ""
    for word in command.split():
        if word in ("-x", "-env", "-genv"):
            continue  # the setting behind it says enough
        if word.startswith("-") and "=" not in word:
            yield from filter(None, [option])
            option = word
        else:
            yield f"{option} {word}".strip()
            option = ""
    yield from filter(None, [option])
