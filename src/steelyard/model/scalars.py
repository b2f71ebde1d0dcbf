"""Kinds of numbers and words that all other types are made of."""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta

Whole = Annotated[int, Meta(ge=-(2**53), le=2**53)]  # as exact as a float
Number = Whole | float | None
Count = Annotated[int, Meta(ge=0, lt=2**31)]
Scalar = str | Whole | float | bool
Parameters = Mapping[str, Scalar]
Better = Literal["higher", "lower", "none"]
Level = Literal["CLEAN", "UNSETTLED", "DISTURBED", "INVALID"]  # in the order of trust
Reach = Literal["figures", "machine", "program"]
