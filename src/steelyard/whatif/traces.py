"""Door: traces of message-passing programs, for the commands `export` and `report`."""

from steelyard.whatif.exporting import FORMATS, export, is_trace
from steelyard.whatif.factors import factors

__all__ = ["FORMATS", "export", "factors", "is_trace"]
