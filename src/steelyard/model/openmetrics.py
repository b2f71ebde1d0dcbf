"""The text form of OpenMetrics 1.0, which Prometheus reads.

https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md
"""


def head(name: str, kind: str, unit: str, meaning: str) -> str:
    """Returns the lines before the samples of a family. `name` must end with `unit`; "" for no unit."""
    of_unit = f"# UNIT {name} {unit}\n" if unit else ""
    return f"# TYPE {name} {kind}\n{of_unit}# HELP {name} {escape(meaning)}\n"


def escape(text: str) -> str:
    """Returns the text for the value of a label or a help text, with escapes."""
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
