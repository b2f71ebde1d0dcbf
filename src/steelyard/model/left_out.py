"""The cases that a plan leaves out, in words."""

from collections.abc import Mapping

from steelyard.model.units import duration
from steelyard.model.words import NAMED, few, joined


def left_out(planned: Mapping[str, int], missing: Mapping[str, int], budget: float | None, preset: str = "") -> str:
    """Returns a note on the cases for which a budget (seconds) or the length of the preset is too small.

    `planned` and `missing` count cases by benchmark; "" if none is missing.
    """
    if not missing:
        return ""
    some = sum(planned.values())
    unmeasured = [name for name in missing if not planned.get(name)]
    most = sorted((name for name in missing if planned.get(name)), key=lambda name: -missing[name])[:NAMED]
    parts = [f"all cases of {joined(few(unmeasured))}"] if unmeasured else []
    parts += [f"{missing[name]} of the {missing[name] + planned[name]} cases of {name}" for name in most]
    every = some + sum(missing.values())
    if budget is None:
        return f"The preset '{preset}' has time for {some} of {every} cases on this machine. It leaves out {joined(parts)}."
    return f"The budget of {duration(budget)} is enough for {some} of {every} cases. It leaves out {joined(parts)}."
