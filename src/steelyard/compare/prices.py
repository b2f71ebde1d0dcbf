"""What each side of a comparison gives for the same money, from the prices of a node and hour and of a kilowatt hour."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from steelyard.compare.compared_sides import MachineCell, MachineFigure
from steelyard.compare.equipment import list_names, read_equipment
from steelyard.compare.program_points import Z, log_error
from steelyard.compare.quantities import GROWING
from steelyard.compare.side import Side
from steelyard.errors import UsageError, nearest
from steelyard.measure.telemetry.coverage import kinds
from steelyard.model import Equipment

OPTION = "--price"
ENERGY = "energy"  # the name that stands for all sides
UNITS = {"h": "hour", "kwh": "kwh"}


@dataclass(frozen=True)
class Prices:
    """The price of a node and `hour`, and that of a kilowatt hour of energy, `kwh`. None: unknown."""

    hour: float | None = None
    kwh: float | None = None


def choose_prices(
    texts: Sequence[str], names: Mapping[str, Collection[str]], equipment: Mapping[str, Equipment]
) -> dict[str, Prices]:
    """Returns the prices as `read_prices`; without texts those of the system files, if each side has one in the same currency."""
    if texts:
        return read_prices(texts, names)
    stated = {
        letter: Prices(of.price_per_hour, of.price_per_kwh) for letter, of in equipment.items() if of.price_per_hour
    }
    alike = stated.keys() == names.keys() and len({equipment[letter].currency for letter in stated}) == 1
    if not all(prices.kwh for prices in stated.values()):
        stated = {letter: Prices(prices.hour) for letter, prices in stated.items()}
    return stated if alike else {}


def choose_of_sides(texts: Sequence[str], sides: Mapping[str, Side]) -> dict[str, Prices]:
    """Returns the prices of the sides by their letters (see `choose_prices`)."""
    equipment = read_equipment((), tuple(sides.values()))
    names = {letter: {letter, *list_names(side)} for letter, side in sides.items()}
    of_nodes = {letter: equipment[side.name] for letter, side in sides.items() if side.name in equipment}
    return choose_prices(texts, names, of_nodes)


def read_prices(texts: Sequence[str], names: Mapping[str, Collection[str]]) -> dict[str, Prices]:
    """Returns the prices by the letter of the side. `names` are those of each letter.

    `texts` are "SIDE=0.096/h", "SIDE=0.30/kWh", and "energy=0.30/kWh" for all sides. UsageError for an unknown side, for no
    price, and if only some sides have one.
    """
    known: dict[str, dict[str, float]] = {"hour": {}, "kwh": {}}
    for text in texts:
        name, _, written = text.rpartition("=")
        found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)(?:\s*/\s*(h|kwh))?", written.strip().casefold())
        if not found or not 0 < float(found[1]) < math.inf:
            raise UsageError(
                f"{OPTION} '{text}' is no price. Write SIDE=0.096/h for a node and hour, or {ENERGY}=0.30/kWh for energy."
            )
        unit = UNITS[found[2] or "h"]
        letters = [letter for letter, of in names.items() if name in of]
        if not letters and unit == "kwh" and name == ENERGY:
            letters = [letter for letter in names if letter not in known["kwh"]]
        elif not letters:
            every = sorted({ENERGY, *(name for names_of in names.values() for name in names_of)})
            raise UsageError(f"{OPTION} '{text}' names no side: '{name}' is none. {nearest(name, every)}")
        known[unit] |= dict.fromkeys(letters, float(found[1]))
    for unit, example in (("hour", "0.096/h"), ("kwh", "0.30/kWh")):
        missing = [min(names[letter], key=len) for letter in names if letter not in known[unit]]
        if known[unit] and missing:
            raise UsageError(
                f"'{missing[0]}' has no price per {unit.replace('kwh', 'kWh')}. "
                f"Give one for each side: {OPTION} '{missing[0]}={example}'"
            )
    return {letter: Prices(**{unit: of[letter] for unit, of in known.items() if of}) for letter in names if texts}


def add_prices(figures: Sequence[MachineFigure], prices: Mapping[str, Prices]) -> tuple[MachineFigure, ...]:
    """Returns the figures with the speed of each side for the same money, for what grows with the machine, and for programs."""
    if not prices:
        return tuple(figures)
    return tuple(
        replace(figure, cells=tuple(_add_price(cell, figure, prices) for cell in figure.cells)) for figure in figures
    )


def explain_unused(texts: Sequence[str], figures: Sequence[MachineFigure]) -> str:
    """Returns why prices that the user gave change nothing; "" if they do, or without such prices."""
    cells = [cell for figure in figures for cell in figure.cells[1:]]
    if any(text.casefold().endswith("kwh") for text in texts) and not any(cell.price_per_kwh for cell in cells):
        return "The price of energy has no effect here: the sides did not measure the power of equal parts."
    if not texts or any(cell.per_price for cell in cells):
        return ""
    return f"{OPTION} has no effect here: no compared value grows with the size of the machine, or the machines are the same."


def _add_price(cell: MachineCell, figure: MachineFigure, prices: Mapping[str, Prices]) -> MachineCell:
    """Returns the cell with its prices. Energy counts if both sides measured the power of the same parts in this case."""
    base = figure.cells[0]
    scopes = [kinds(of.power.scope) if of.power else None for of in (base, cell)]
    pair = [(of, prices[of.letter]) for of in (base, cell)]
    if not scopes[0] or scopes[0] != scopes[1]:
        pair = [(of, replace(price, kwh=None)) for of, price in pair]
    of_nodes = [(price.hour or 0.0) * of.nodes for of, price in pair]
    of_energy = [of.power.value / 1000 * price.kwh if of.power and price.kwh else 0.0 for of, price in pair]
    first, own = map(sum, zip(of_nodes, of_energy, strict=True))  # the cost of an hour of all nodes whose value it is
    cell = replace(cell, price=pair[1][1].hour, price_per_kwh=pair[1][1].kwh)
    grows = (figure.is_program and cell.cores and base.cores) or figure.name in GROWING
    if not (grows and cell.speed and first and own):
        return cell
    speed, per_price = cell.speed, cell.speed * first / own
    cell = replace(cell, per_price=per_price)
    if cell.low is None or cell.high is None:
        return cell
    # The costs have the relative errors of the powers, as far as energy is a part of them.
    parts = zip((base, cell), of_energy, (first, own), strict=True)
    error = Z * math.hypot(*(energy / cost * log_error(of.power) for of, energy, cost in parts if of.power))
    below, above = (math.exp(math.hypot(math.log(end / speed), error)) for end in (cell.low, cell.high))
    return replace(cell, price_low=per_price / below, price_high=per_price * above)
