"""The exports of a run in the forms of other tools, made from the docstrings of their modules."""

import importlib
import inspect

from steelyard.show.report import exports


def sections() -> str:
    """Returns a section for each form: its content, its address, and where the verdict and the interval stand."""
    return "\n".join(map(_section, exports.FORMS))


def _section(form: str) -> str:
    module = importlib.import_module(f"{exports.__name__}.{form.replace('-', '_')}")
    parts = inspect.cleandoc(module.__doc__ or "").split("\n\n")
    paragraphs = [f"<{part}>" if part.startswith("http") else " ".join(part.split()) for part in parts]
    return "\n\n".join([f"### {form}", *paragraphs]) + "\n"
