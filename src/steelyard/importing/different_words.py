"""Aligns the facts in the names of files, and takes the words in which the names differ."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest

from steelyard.importing.name_facts import (
    COUNTED,
    NEUTRAL,
    SIZED,
    UNTYPED,
    Fact,
    are_jobs,
    counts_repetitions,
    is_neutral,
)

_LAST_NUMBER = re.compile(r"(?:^|[-.])\d+$")


def align_facts(facts: Sequence[Sequence[Fact]]) -> list[list[Fact | None]]:
    """Returns the facts of the files by place in the name if all names are built alike, else those of each meaning.

    Words of names that are built in different ways are one column: those that not all names have.
    """
    shapes = {tuple(fact.meaning if fact.meaning not in UNTYPED else "" for fact in row) for row in facts}
    if len(shapes) == 1:
        return [list(column) for column in zip(*facts, strict=True)]
    meanings = dict.fromkeys(fact.meaning for row in facts for fact in row if fact.meaning not in UNTYPED)
    columns: list[list[Fact | None]] = [_join_facts(facts, meaning) for meaning in meanings]
    if all(
        row and row[0].meaning == "number" for row in facts
    ):  # 1_x and 2_y: the first number of all names is one part
        columns.append([row[0] for row in facts])
        facts = [row[1:] for row in facts]
    words = [_list_words(row) for row in facts]
    return [*columns, [Fact("word", text) if text else None for text in _remove_counters(_join_differing(words))]]


def _join_facts(facts: Sequence[Sequence[Fact]], meaning: str) -> list[Fact | None]:
    """Returns what each file says of a meaning; of several values it is a text with all of them."""
    stated = [[fact.value for fact in row if fact.meaning == meaning] for row in facts]
    return [
        Fact(meaning, values[0] if len({*values}) == 1 else "-".join(map(str, values))) if values else None
        for values in stated
    ]


def _list_words(facts: Sequence[Fact]) -> list[str]:
    """Returns the words and numbers, without those that hold repetitions, such as "run" and its number."""
    words = [str(fact.value) if fact.meaning in UNTYPED else "" for fact in facts]
    counted = [*map(_can_be_counter, words[1:]), False]  # "no" stands before a counter, or for "without"
    neutral = [is_neutral(word, COUNTED if counts else NEUTRAL) for word, counts in zip(words, counted, strict=False)]
    return [
        word
        for word, left_out, follows in zip(words, neutral, [False, *neutral], strict=False)
        if word and not left_out and not (follows and _can_be_counter(word))
    ]


def _can_be_counter(word: str) -> bool:
    return word.isdigit() and (len(word) < 4 or are_jobs([word]))


def _join_differing(words: Sequence[Sequence[str]]) -> list[str]:
    """Returns the words that not all names have.

    If these are equal for different names, it returns all words from the first difference on.
    """
    common = set(words[0]).intersection(*words)
    texts = ["-".join(_leave_out(row, common)) for row in words]
    if len({*texts}) == len({*map(tuple, words)}):
        return texts
    shared = next(
        (at for at, column in enumerate(zip(*words, strict=False)) if len({*column}) > 1), min(map(len, words))
    )
    return ["-".join(row[shared:]) for row in words]


def _leave_out(words: Sequence[str], common: Collection[str]) -> Iterator[str]:
    """Yields the other words; one such as "numa" stays before its number, which is not that of a repetition."""
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        sized = word.casefold() in SIZED and following.isdigit() and following not in common
        if word not in common or sized:
            yield word


def _remove_counters(texts: Sequence[str]) -> list[str]:
    """Returns the texts without their last number if it only counts: "x-1" to "x-4" become "x"."""
    alike: dict[str, set[str]] = defaultdict(set)
    for text in texts:
        alike[_LAST_NUMBER.sub("", text)].add(text)
    several = [[*names] for names in alike.values() if len(names) > 1]
    return [_LAST_NUMBER.sub("", text) for text in texts] if several and all(map(_count_only, several)) else [*texts]


def _count_only(texts: Sequence[str]) -> bool:
    """Returns whether the last numbers count, or are jobs; a text without any has a date or nothing instead of a job."""
    numbers = [found.strip("-.") for text in texts for found in _LAST_NUMBER.findall(text)]
    return bool(numbers) and (are_jobs(numbers) or (len(numbers) == len(texts) and counts_repetitions(texts)))
