"""The lines of IO500, and the results in one file."""

from collections.abc import Iterable

from steelyard.importing.text import Text

PROCESSES = r"procs\s*=\s*(\d+)"
RESULT = (
    r"\[(?:RESULT(?=\W)|(?= +\]))(?P<state>[^\]]*)\]\s+(?:(?:BW|IOPS)\s+phase\s+\d+\s+)?(?P<name>[a-zA-Z][\w-]*)\s+"
    r"(?P<value>\S+) (?P<unit>\S+)\s*:\s*time\s+(?P<time>\S+) s(?:econds)?\b(?P<end>.*)"
)
SCORE = r"\[SCORE(?P<state>[^\]]*)\]\s+Bandwidth (\S+) G\w+/s *: *IOPS (\S+) (?i:kiops) *: *TOTAL ([^\s`]+)(?P<end>.*)"
REFUSED = "the score is INVALID, not the geometric mean of both, or in no certain unit"


def find_runs(text: Text) -> Iterable[Text]:
    """Returns the results with different numbers of ranks, or the whole text, which may print one result twice."""
    processes = {found[1] for found, _ in text.match(PROCESSES)}
    return text.runs(PROCESSES) if len(processes) > 1 else (text,)
