"""What each side of a comparison gives for the same money, from the price of a node and hour."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from steelyard.compare.compared_sides import MachineCell, MachineFigure
from steelyard.compare.quantities import GROWING
from steelyard.errors import UsageError, nearest
from steelyard.model import Equipment

OPTION = "--price"


def choose_prices(
    texts: Sequence[str], names: Mapping[str, Collection[str]], equipment: Mapping[str, Equipment]
) -> dict[str, float]:
    """Returns the prices as `read_prices`; without texts those of the system files, if each side has one in the same currency."""
    stated = {letter: of.price_per_hour for letter, of in equipment.items() if of.price_per_hour}
    alike = stated.keys() == names.keys() and len({equipment[letter].currency for letter in stated}) == 1
    return stated if alike and not texts else read_prices(texts, names)


def read_prices(texts: Sequence[str], names: Mapping[str, Collection[str]]) -> dict[str, float]:
    """Returns the price of a node and hour by the letter of the side. `texts` are "SIDE=0.096/h", `names` those of each letter.

    UsageError for an unknown side, for no price, and if a side has none.
    """
    prices: dict[str, float] = {}
    for text in texts:
        name, _, price = text.rpartition("=")
        found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)(?:\s*/\s*h)?", price.strip())
        if not found or not 0 < float(found[1]) < math.inf:
            raise UsageError(f"{OPTION} '{text}' is no price of a side. Write it as SIDE=0.096/h, per node and hour.")
        letter = next((letter for letter, known in names.items() if name in known), None)
        if letter is None:
            known = sorted(name for names_of in names.values() for name in names_of)
            raise UsageError(f"{OPTION} '{text}' names no side: '{name}' is none. {nearest(name, known)}")
        prices[letter] = float(found[1])
    if texts and (missing := [min(names[letter], key=len) for letter in names if letter not in prices]):
        raise UsageError(f"'{missing[0]}' has no price. Give one for each side: {OPTION} '{missing[0]}=0.096/h'")
    return prices


def add_prices(figures: Sequence[MachineFigure], prices: Mapping[str, float]) -> tuple[MachineFigure, ...]:
    """Returns the figures with the speed of each side for the same money, for what grows with the machine, and for programs."""
    if not prices:
        return tuple(figures)
    return tuple(
        replace(figure, cells=tuple(_add_price(cell, figure, prices) for cell in figure.cells)) for figure in figures
    )


def explain_unused(texts: Sequence[str], figures: Sequence[MachineFigure]) -> str:
    """Returns why prices that the user gave change nothing; "" if they do, or without such prices."""
    if not texts or any(cell.per_price for figure in figures for cell in figure.cells):
        return ""
    return f"{OPTION} has no effect here: no compared value grows with the size of the machine, or the machines are the same."


def _add_price(cell: MachineCell, figure: MachineFigure, prices: Mapping[str, float]) -> MachineCell:
    of_a_node = cell.cores and figure.cells[0].cores
    grows = (figure.is_program and of_a_node) or figure.name in GROWING
    price = prices[cell.letter]
    base = prices[figure.cells[0].letter] * figure.cells[0].nodes
    return replace(
        cell, price=price, per_price=cell.speed * base / (price * cell.nodes) if grows and cell.speed else None
    )
