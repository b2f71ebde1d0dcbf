"""The power sensors that measure a whole board, by the makers' names: one for the whole board, or else its power supplies."""

import re
from collections.abc import Sequence

_WHOLE = re.compile(
    r"(?:power )?(?:sys(?:tem)?|total|node|server|chassis|platform|tray|sled|blade)(?: board)?(?: total| input| ac)* "
    r"(?:power|pwr|level)\b|(?:power|pwr|pw) (?:meter|consumption|usage|total)\b|(?:current|input|total input) power$|power$"
)
# A supply and its number; one with neither direction in its name is taken for what goes in.
_SUPPLY = re.compile(r"(?:power |pwr )?(?:psu?|pws|pmb|(?:power|pwr) supply|(?=power ?[0-9]+$)power) ?#?([0-9]+)\b(.*)")
_IN = re.compile(r"\b(?:in|input|pin|ac)\b")
_OUT = re.compile(r"\b(?:out|output|pout|dc)\b")
_NO_POWER = re.compile(r"\b(?:max|maximum|peak|rated|capacity|limit|cap|loss)\b")


def find_feeding(labels: Sequence[str]) -> list[int]:
    """Returns the places of the power sensors whose sum is the power of the board: one, one for each supply, or none.

    The input of a supply contains its output, and both contain the power of its parts.
    """
    names = [_split_words(label) for label in labels]
    whole = [place for place, name in enumerate(names) if _WHOLE.match(name) and not _NO_POWER.search(name)]
    if whole:
        return [min(whole, key=lambda place: bool(_OUT.search(names[place])))]
    supplies: dict[str, list[tuple[int, int]]] = {}
    for place, name in enumerate(names):
        match = _SUPPLY.match(name)
        if match and not _NO_POWER.search(name):
            rank = 0 if _IN.search(match[2]) else 2 if _OUT.search(match[2]) else 1
            supplies.setdefault(match[1], []).append((rank, place))
    return sorted(min(sensors)[1] for sensors in supplies.values())


def _split_words(label: str) -> str:
    """Returns the words of a label: 'PSU1_PowerIn' → 'psu1 power in'."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label)
    apart = re.sub(r"[^a-z0-9#]+", " ", apart.lower()).strip()
    return re.sub(r"(?<=[0-9])(?=[a-z])", " ", apart)
