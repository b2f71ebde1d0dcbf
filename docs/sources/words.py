"""The glossary, made from the terms that the report explains."""

from steelyard.show.report.pages.glossary import WORDS


def page(note: str) -> str:
    """docs/glossary.md."""
    lines = [f"- **{word}**: {meaning}" for word, meaning in WORDS]
    return "\n".join(
        ["# Glossary\n", note, "These terms have an exact meaning. The report explains the same terms.\n", *lines, ""]
    )
