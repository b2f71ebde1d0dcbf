"""The sign, the colour and the meaning of each verdict."""

from steelyard.model import Level
from steelyard.statistics.validity.trust import ORDER, doubtful

# Shapes and words beside the colours, so that nothing hangs on the colour alone.
SIGNS: dict[Level, str] = {"CLEAN": "●", "FOREIGN": "◇", "UNSETTLED": "◐", "DISTURBED": "▲", "INVALID": "✕"}
COLOURS: dict[Level, str] = {
    "CLEAN": "green",
    "FOREIGN": "blue",
    "UNSETTLED": "magenta",
    "DISTURBED": "yellow",
    "INVALID": "red",
}
LAMPS: dict[Level, tuple[str, str]] = {level: (f"{SIGNS[level]} {level}", COLOURS[level]) for level in ORDER}
MEANINGS: dict[Level, str] = {
    "CLEAN": "Steelyard detected no disturbance, and the samples and launches agree well enough to rely on the value.",
    "FOREIGN": "Another tool measured the value. Steelyard cannot judge it, and shows the statistic of that tool.",
    "UNSETTLED": "Steelyard detected no disturbance, but the value is not reliable yet: there are few samples, the "
    "interval is wide, or the launches differ. Measure longer or with more launches.",
    "DISTURBED": "Steelyard detected a disturbance during the measurement. The value may be wrong.",
    "INVALID": "The measurement failed, or the kernel computed a wrong result. The report shows no value.",
}

LEGEND: dict[Level, str] = {  # MEANINGS in a few words, for one line of a screen
    "FOREIGN": "measured by another tool",
    "UNSETTLED": "few samples or differing launches",
    "DISTURBED": "disturbance detected",
    "INVALID": "failed",
}


def signed(text: str, level: Level) -> str:
    """Returns a value with the sign of its verdict before it, if the value is unreliable."""
    return f"{SIGNS[level]} {text}" if doubtful(level) else text
