"""The glossary, from the words that the report explains."""

from steelyard.report.pages.glossary import WORDS


def page(note: str) -> str:
    """docs/glossary.md."""
    lines = [f"- **{word}**: {meaning}" for word, meaning in WORDS]
    return "\n".join(
        ["# Words\n", note, "Twelve words mean something exact; the report explains the same ones.\n", *lines, ""]
    )
