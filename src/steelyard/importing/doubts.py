"""Doubts about values. They become a note of the values, and the finding `imported_doubts` names them with file and line.

A tool may doubt its own results, a scheduler may stop the job, and a file may hold several outputs of a tool. Some
repetitions of a case may come from one node only.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from steelyard.importing.format import NOTHING, WARNINGS, Format
from steelyard.importing.launches import has_counters
from steelyard.importing.patterns import find_all, search
from steelyard.importing.text import Text
from steelyard.importing.values import Values
from steelyard.model import ForeignValue

WARNS = " warns: "  # in such a note
STOPPED = "The job was stopped or failed below this value"
SEVERAL = "The file has several outputs of"
ONE_NODE = "The ranks were probably on one node, those of other repetitions on two"
DOUBTS = (WARNS, STOPPED, SEVERAL, ONE_NODE)
SMALL = 64  # bytes
# Seconds. No network between nodes is faster: InfiniBand needs 0.62 µs and more, Slingshot 1 µs, shared memory 0.1 to 0.8 µs.
SHARED_MEMORY = 0.6e-6
_GAP = 1.5  # between repetitions on one node and on two; those of one kind differ by less
_MOST, _LONGEST = 3, 120  # sentences of a run, and characters of each
# Words whose full stop does not end a sentence.
_ABBREVIATIONS = frozenset(
    {"approx", "avg", "cf", "e.g", "esp", "fig", "i.e", "incl", "max", "min", "no", "num", "resp", "vs"}
)
_TAIL = 10  # lines at the end of a file, in which a scheduler writes
# What schedulers (Slurm, PBS, LSF), launchers (srun, Hydra, Open MPI, aprun) and shells write if a program is stopped or fails.
_ENDS = "Killed|Terminated|Segmentation fault|Aborted"
_STOPS = (
    r"\*\*\* (?:JOB|STEP) \S+ ON \S+ CANCELLED AT [^\n]*|PBS: job killed:[^\n]*|TERM_[A-Z]+: job killed[^\n]*|"
    r"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES|exited on signal \d+[^\n]*|MPI_ABORT was invoked on rank[^\n]*|"
    r"Detected \d+ oom[-_]kill event[^\n]*|Caught signal \w+, sending to application|"
    rf"\btasks? [\d,-]+: (?:{_ENDS}|Out Of Memory|Exited with exit code [1-9])|"
    rf"^\S+: line \d+: +\d+ (?:{_ENDS})\b[^\n]*|^(?:{_ENDS})(?: \(core dumped\))?[ \t]*$"
)
_CUT = "has no end, so it may be incomplete"
_VERSION = r"(?i)(?:\bv\.?|\bversion[:=]? ?|revision: ?|\bfio-)(\d+(?:\.\d+)+\w*)"


def add_doubts(known: Format, text: Text) -> Values:
    """Yields the values that a format reads; those of an output with lines in which its tool doubts them with a note."""
    for part in text.runs(known.output) if text.find(known.doubts) else (text,):
        note = find_doubts(known.tool, part, known.doubts)
        for value in known.read(part):
            yield add_note(value, note) if note else value


def add_note(value: ForeignValue, note: str) -> ForeignValue:
    """Returns the value with a further note."""
    return replace(value, note=f"{value.note} {note}".strip())


def find_doubts(tool: str, run: Text, doubts: str) -> str:
    """Returns a sentence with the first groups of the matches, or the whole ones, up to the end of a sentence; '' without any."""
    words = (next(filter(None, match.groups()), match[0]) for match in find_all(doubts, run.whole))
    quoted = dict.fromkeys(f"'{_cut_sentence(word.strip())[:_LONGEST]}'" for word in words)
    return f"{'The output' if doubts == WARNINGS else tool}{WARNS}{', '.join([*quoted][:_MOST])}." if quoted else ""


def _cut_sentence(words: str) -> str:
    """Returns the words up to the end of their first sentence, which is behind no abbreviation and before no small letter."""
    for stop in re.finditer(r"\.(?: +(?![a-z])|$)", words):
        last = words[: stop.start()].split()[-1:]
        if not (last and last[0].strip("([\"'").lower() in _ABBREVIATIONS) or stop.end() == len(words):
            return words[: stop.start()]
    return words


class ToolMarks:
    """The lines of a file with a mark of each tool, in their order: there an output or a part of it begins."""

    def __init__(self, content: str, formats: Sequence[Format]) -> None:
        self.content = content
        self.lines: dict[str, list[tuple[int, str]]] = {}
        for tool in dict.fromkeys(known.tool for known in formats):
            marks = [
                re.escape(mark) for known in formats if known.tool == tool for mark in known.marks if "\n" not in mark
            ]
            heading = rf"^.*?(?:{'|'.join(marks)}).*" if marks else NOTHING
            self.lines[tool] = [*_find_lines(heading, content)]

    def find_version(self, tool: str) -> str:
        """Returns the version that the first heading with one names, such as "Tool 2.1", or a line of its own; '' without any."""
        name = re.escape(tool.split(maxsplit=1)[0])
        forms = (_VERSION, rf"(?i)\b{name}[ -](\d+(?:\.\d+)+\w*)")
        headings = "\n".join(text for _, text in self.lines[tool])
        own_line = rf"(?i)^[ \t#*|]*(?:{name} |(?:{name} )?version(?: number)?[ .:=]+)(\d+(?:\.\d+)+\w*)"
        places = ((form, headings) for form in forms), ((own_line, self.content),) if len(self.lines) == 1 else ()
        return next((found[1] for form, text in chain(*places) if (found := search(form, text))), "")

    def find_last(self, tool: str, line: int) -> int:
        """Returns the line of the last heading above a line; 0 without any."""
        above = bisect_left(self.lines[tool], (line, ""))
        return self.lines[tool][above - 1][0] if above else 0

    def find_outputs(self, values: Sequence[ForeignValue]) -> list[int]:
        """Returns the lines in which outputs of one tool begin, of which at least two have the same case; [] without these.

        An output begins with the same heading as the first one.
        """
        headings, least = self.lines[values[0].tool], min((value.line for value in values if value.line), default=0)
        first = next((text for at, text in headings if at < least), None)
        begins = [at for at, text in headings if first is not None and _has_shape(text, first)]
        if len(begins) < 2:
            return []
        outputs: dict[object, set[int]] = defaultdict(set)
        for value in values:
            if value.line:
                outputs[value.case].add(bisect_right(begins, value.line))
        return begins if any(len(places) > 1 for places in outputs.values()) else []


def _find_lines(pattern: str, content: str) -> Iterator[tuple[int, str]]:
    """Yields the line and the words of each match."""
    line, counted = 1, 0
    for match in find_all(pattern, content):
        line, counted = line + content.count("\n", counted, match.start()), match.start()
        yield line, match[0]


def _has_shape(text: str, other: str) -> bool:
    return re.sub(r"\d+", "#", text) == re.sub(r"\d+", "#", other)


def mark_outputs(
    values: Sequence[ForeignValue], headings: ToolMarks, content: str, problems: Sequence[str]
) -> list[ForeignValue]:
    """Returns the values of a file with notes on those of an output that was stopped, and of several outputs of a tool."""
    stops = [*_find_lines(_STOPS, content)]
    if any(_CUT in problem for problem in problems):
        stops.append((content.count("\n") + 1, "the file ends here"))
    notes: dict[int, str] = {}
    placed, done = sorted((value.line, at) for at, value in enumerate(values)), 0
    if placed and not placed[-1][0]:  # as in JSON: only what ends the file stands below all values
        end = content.rstrip().count("\n") + 1
        stops = [(line, words) for line, words in stops if end - line < _TAIL][:1]
    for line, words in sorted(stops):
        above = bisect_left(placed, (line, 0))
        if above > done:
            last = values[placed[above - 1][1]]
            begin = headings.find_last(last.tool, last.line) if last.line else -1
            stopped = (at for place, at in placed[done:above] if values[at].tool == last.tool and place > begin)
            notes |= dict.fromkeys(stopped, f"{STOPPED} (line {line}: '{words.strip()[:_LONGEST]}').")
            done = above
    by_tool: dict[str, list[int]] = defaultdict(list)
    for at, value in enumerate(values):
        by_tool[value.tool].append(at)
    for tool, places in by_tool.items():
        begins = headings.find_outputs([values[at] for at in places])
        if begins and not has_counters(content.split("\n"), [line - 1 for line in begins]):
            note = f"{SEVERAL} {tool}, which begin in lines {', '.join(map(str, begins[:_MOST]))}{' …' * (len(begins) > _MOST)}."
            notes |= {at: f"{notes.get(at, '')} {note}".strip() for at in places}
    return [add_note(value, notes[at]) if at in notes else value for at, value in enumerate(values)]


def is_small_message(value: ForeignValue) -> bool:
    """Returns whether the value is the latency of a small message between two ranks."""
    size = value.parameters.get("message_bytes", 0)
    pingpong = value.benchmark == "network.pingpong" and value.metric == "latency"
    return pingpong and isinstance(size, int) and size <= SMALL


def mark_repetitions(values: list[ForeignValue], cases: Sequence[object]) -> None:
    """Adds notes to repetitions from one node among others. `cases` has the same for all repetitions of a case."""
    repetitions: dict[object, list[int]] = defaultdict(list)
    for at, case in enumerate(cases):
        repetitions[case].append(at)
    for places in (places for places in repetitions.values() if len(places) > 1):
        fast = [at for at in places if is_small_message(values[at]) and values[at].value < SHARED_MEMORY]
        slow = [values[at].value for at in places if at not in fast]
        if fast and slow and max(values[at].value for at in fast) * _GAP < min(slow):
            for at in fast:
                values[at] = add_note(values[at], f"{ONE_NODE}.")
