"""The numbers and words that the fields of all other types have."""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta

Whole = Annotated[int, Meta(ge=-(2**53), le=2**53)]  # exact also as a float
Number = Whole | float | None
Count = Annotated[int, Meta(ge=0, lt=2**31)]
Scalar = str | Whole | float | bool
Parameters = Mapping[str, Scalar]
Better = Literal["higher", "lower", "none"]
# From the most to the least trusted. FOREIGN: another tool measured the value, so Steelyard cannot judge it.
Level = Literal["CLEAN", "FOREIGN", "UNSETTLED", "DISTURBED", "INVALID"]
Call = Literal["SAME", "FASTER", "SLOWER", "UNCLEAR"]
Reach = Literal["figures", "machine", "program"]
About = Literal["machine", "measurement"]
