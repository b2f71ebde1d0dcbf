"""Labels of stretches and gaps: short lines of printable letters."""

LONGEST_TEXT = 500  # letters


def to_line(text: str) -> str:
    """Returns the text as one line: unprintable letters become blanks, and it is cut off after `LONGEST_TEXT` letters."""
    return "".join(letter if letter.isprintable() else " " for letter in text)[:LONGEST_TEXT]
