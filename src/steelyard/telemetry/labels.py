"""Labels of stretches and gaps: short lines of printable letters."""

LONGEST_TEXT = 500  # letters


def line(text: str) -> str:
    """The text as one line: other letters become blanks, and what is longer than `LONGEST_TEXT` is cut off."""
    return "".join(letter if letter.isprintable() else " " for letter in text)[:LONGEST_TEXT]
