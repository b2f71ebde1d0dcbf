"""Values of other tools, converted to SI units."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from steelyard.importing.words import find_line
from steelyard.model import Better, Scalar
from steelyard.model.foreign import ForeignValue
from steelyard.model.units import LOWER

Values = Iterator[ForeignValue]
Given = Mapping[str, Scalar | None]  # parameters; one that is None is left out
FITTING = 0.03  # share by which rounded numbers of a row may differ from each other
MOST = 1e24  # a larger value is damaged
ROUNDED = 0.01  # tools round the mean, the least and the greatest of small numbers by up to this share
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")  # in linear time

_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_RATES = {
    "B/s": "B/s", "B": "B", "flop/s": "flop/s", "flop": "flop", "op/s": "op/s", "IOPS": "1/s", "/s": "1/s", "Hz": "Hz",
    "TEPS": "edge/s", "update/s": "update/s", "step/s": "step/s", "uop/s": "uop/s",
}  # fmt: skip


class _Units(dict[str, tuple[float, str]]):
    """Factors to SI, and SI units. ValueError for a unit that is unknown."""

    def __missing__(self, unit: str) -> tuple[float, str]:
        raise ValueError(f"the unit '{unit}' is unknown")


# Factor to SI, and the SI unit. "MB" is 10^6 bytes, "MiB" 2^20 bytes.
UNITS = _Units({
    "": (1.0, ""), "s": (1.0, "s"), "ms": (1e-3, "s"), "us": (1e-6, "s"), "ns": (1e-9, "s"), "min": (60.0, "s"),
    "h": (3600.0, "s"), "W": (1.0, "W"), "J": (1.0, "J"), "%": (0.01, "%"), "cycle": (1.0, "cycle"), "ns/day": (1.0, "ns/day"),
    **{f"{p}{name}": (f, unit) for p, f in _PREFIXES.items() for name, unit in _RATES.items()},
    **{f"{p}{name}": (f, name) for p, f in _BINARY.items() for name in ("B/s", "B")},
    "Giflop/s": (2.0**30, "flop/s"), "/min": (1 / 60, "1/s"), "MWIPS": (1e6, "WIPS"),  # Whetstone instructions per second
    **{f"{p}bit/s": (f / 8, "B/s") for p, f in {**_PREFIXES, **_BINARY}.items()},
})  # fmt: skip
# Words for units in the output of tools whose users choose the unit. Case matters: "MB" are bytes, "Mb" bits.
_SPELLING = re.compile(r"(?P<prefix>[KkMGTP]i?)?(?P<name>[A-Za-z]+?)(?P<rate>/s|/sec|/second|/seconds|ps)?")
_NAMES = {
    **dict.fromkeys(("B", "Byte", "Bytes", "byte", "bytes"), "B"), **dict.fromkeys(("b", "bit", "bits"), "bit"),
    **dict.fromkeys(("flop", "flops", "Flop", "Flops", "FLOP", "FLOPS", "FLOPs"), "flop"),
    **dict.fromkeys(("op", "ops", "Op", "Ops", "OP", "OPS"), "op"), "UOPS": "uop",
}  # fmt: skip
_TIMES = {
    **dict.fromkeys(("sec", "secs", "seconds", "second"), "s"),
    **dict.fromkeys(("msec", "msecs", "milliseconds", "millisecond"), "ms"),
    **dict.fromkeys(("usec", "usecs", "microseconds", "microsecond", "µs", "μs"), "us"),
    **dict.fromkeys(("nsec", "nsecs", "nanoseconds", "nanosecond"), "ns"),
    **dict.fromkeys(("minutes", "minute"), "min"), "watts": "W", "joules": "J", "percent": "%", "ns per day": "ns/day",
}  # fmt: skip
_POSITIVE = ("s", "B/s", "B", "flop/s", "flop", "op/s", "1/s", "edge/s", "update/s", "Hz", "W", "J")
# Parameters that are whole and not negative.
_COUNTS = ("ranks", "nodes", "threads", "ranks_per_node", "pairs", "elements", "window")
_MOST, _LONGEST = 2**53, 1000  # of a parameter: a whole number that is exact also as a float, and letters
# A time in which a program does something, such as "s/step". "days/ns" is a time, too; "ns/day" and "us/day" are rates.
_TIME_EACH = re.compile(
    r"(?:days?|h|hours?) ?(?:/| per ) ?[fpnuµ]s|(?:h|hours?|min|minutes?|s|secs?|seconds?|[munµ]s) ?(?:/| per ) ?"
    r"(?!(?:days?|hours?|min\w*|m?secs?|seconds?)$)(?:op|[A-Za-z]{3,})"
)
_OF_PYTHON = re.compile(
    r"^zip\(\) argument|values to unpack|index out of range|could not convert string|substring not found|not in list|is an empty"
)
_BARE_RATES = ("flop", "op")  # "GFLOPS" is a rate; a bare "MB" is an amount


def number(word: str) -> float:
    """Returns the number. ValueError for anything else, also for a decimal comma and for 'nan'."""
    if not NUMBER.fullmatch(word):
        raise ValueError(f"'{word}' is not a number")
    return float(word)


def explain(error: Exception) -> str:
    """Returns why something could not be read; an error of Python itself says nothing to a user, and gets a sentence."""
    words = str(error)
    if isinstance(error, KeyError):
        return f"{words} is missing or unknown"
    if found := re.match(r"invalid literal for int\(\) with base \d+: (.*)", words):
        return f"{found[1]} is not a whole number"
    return "its form is unknown" if _OF_PYTHON.search(words) else words


def spell(printed: str) -> str | None:
    """Returns the unit of `UNITS` that words such as "Mbytes/sec", "GFLOPS" or "t[usec]" mean; None if it is unknown."""
    word = re.sub(r"^\w+\[(.*)\]$", r"\1", printed.strip().removeprefix("Total "))
    if word in UNITS or word.lower() in _TIMES:
        return word if word in UNITS else _TIMES[word.lower()]
    match = _SPELLING.fullmatch(word)
    name = _NAMES.get(match["name"]) or _NAMES.get(match["name"] + (match["rate"] or "")) if match else None  # flo+ps
    if not match or not name:
        return None
    unit = (match["prefix"] or "") + name + ("/s" if match["rate"] or name in _BARE_RATES else "")
    return unit if unit in UNITS else None


def has_direction(unit: str | None) -> bool:
    """Returns whether the unit says which direction is better. A share may be one of the time or of the peak."""
    return unit not in (None, "", "%")


def make(
    benchmark: str, kernel: str, metric: str, word: float | str, unit: str, statistic: str,
    parameters: Given | None = None, *, better: Better | None = None, note: str = "",
) -> ForeignValue:  # fmt: skip
    """Returns a value in SI units, without the parameters that are None.

    ValueError if it is no finite number or the unit is unknown.
    """
    factor, si = UNITS[unit]
    value = factor * (number(word) if isinstance(word, str) else float(word))
    if not math.isfinite(value) or abs(value) > MOST:
        raise ValueError(f"'{word}' is not a usable number")
    return ForeignValue(
        benchmark=benchmark, kernel=kernel, metric=metric, value=value, unit=si,
        better=better or ("lower" if si in LOWER else "higher"), statistic=statistic, note=note, line=find_line(word),
        parameters={name: given for name, given in (parameters or {}).items() if given is not None},
    )  # fmt: skip


def size(printed: str) -> int | None:
    """Returns the bytes of an amount such as "20 MiB" or "262144 bytes"; None of any other, and of a rounded one ("9.46 TiB")."""
    word, _, unit = printed.strip().partition(" ")
    factor, si = UNITS.get(spell(unit) or "", (0.0, ""))
    exact = factor * float(word) if si == "B" and NUMBER.fullmatch(word) else 0.5
    return int(exact) if exact.is_integer() and exact < 2**53 and (factor < 2**20 or "." not in word) else None


def read_word(word: str) -> int | str:
    """Returns a whole number, or any other word as it is."""
    return int(word) if word.isdecimal() else word


def make_name(words: str) -> str:
    """Returns words as the name of a kernel, a metric or a parameter: "ALL Reads" → "all_reads"."""
    return re.sub(r"\W+", "_", words.lower()).strip("_")


def make_printed(
    benchmark: str, kernel: str, metric: str, word: float | str, printed: str, statistic: str,
    parameters: Given | None = None, *, better: Better | None = None, note: str = "",
) -> ForeignValue:  # fmt: skip
    """Returns a value whose unit the user of the tool wrote: in SI units if the unit is known, else in the unit as printed."""
    unit = spell(printed)
    each: Better = "lower" if unit is None and _TIME_EACH.fullmatch(printed.strip()) else "none"
    direction: Better | None = better or (None if has_direction(unit) else each)
    value = make(benchmark, kernel, metric, word, unit or "", statistic, parameters, better=direction, note=note)
    return value if unit is not None else replace(value, unit=printed.strip())


def percentile(share: str) -> str:
    """Returns the statistic of a percentile, such as "p99.9" or "median". ValueError if it is no percentile."""
    if not 0 <= number(share) <= 100:
        raise ValueError(f"'{share}' is not a percentile")
    return "median" if number(share) == 50 else f"p{number(share):g}"


def count(word: str) -> float:
    """Returns the number of a word such as "12.3k"."""
    return number(word.rstrip("kKM")) * _PREFIXES[word.lstrip("+-.0123456789")]


def best_of(times: int | None) -> str:
    """Returns the statistic of the best of `times` repetitions; their number may be unknown."""
    return f"best of {times}" if times else "best"


def make_spread(
    benchmark: str, kernel: str, metric: str, words: Sequence[str], unit: str,
    parameters: Given, *, times: int | None = None, note: str = "",
) -> Values:  # fmt: skip
    """Yields the greatest, the least and the mean of `times` repetitions; of one repetition a single value.

    ValueError if the mean is not between the other two, which a damaged row shows.
    """
    greatest, least, mean = (number(word) for word in words)
    if not least * (1 - ROUNDED) <= mean <= greatest * (1 + ROUNDED):
        raise ValueError(
            f"the mean {words[2]} of {kernel} is not between the least, {words[1]}, and the greatest, {words[0]}"
        )
    single = times == 1 and greatest == least
    for word, statistic in [(mean, "one run")] if single else zip(words, ("greatest", "least", "mean"), strict=True):
        yield make(benchmark, kernel, metric, word, unit, statistic, parameters, note=note)


def seconds(word: str) -> float:
    """Returns the seconds of a time such as '2d3h', '1h23m', '5m 0.07s' or '51.8s'. ValueError for anything else."""
    match = re.fullmatch(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:([\d.]+)s)?", word.replace(" ", ""))
    if not match or not match[0]:
        raise ValueError(f"'{word}' is not a time")
    return sum(factor * number(part or "0") for factor, part in zip((86400, 3600, 60, 1), match.groups(), strict=True))


def expect_near(value: float, expected: float, tolerance: float, sentence: str) -> None:
    """Raises ValueError with the sentence if two numbers of a row contradict each other. The tolerance is absolute."""
    if not abs(value - expected) <= tolerance:
        raise ValueError(sentence)


def expect_solved(n: str, seconds: str, gflops: str) -> None:
    """Raises ValueError if the speed does not follow from size and time: HPL counts 2/3 n^3 + 3/2 n^2 operations.

    Times have at least two decimals.
    """
    size, done = float(number(n)), number(gflops) * 1e9 * number(seconds)
    operations = (2 / 3 * size + 3 / 2) * size * size
    tolerance = operations * 2e-3 + number(gflops) * 1e9 * 0.01
    expect_near(done, operations, tolerance, f"{gflops} Gflop/s in {seconds} s do not fit N = {n}")


Column = tuple[str, str, str]  # metric, unit, statistic


def make_row(
    benchmark: str, kernel: str, row: Mapping[str, str], columns: Mapping[str, Column],
    parameters: Given, note: str = "",
) -> Values:  # fmt: skip
    """Yields the values of a row of a table, or none if one of them is refused. Empty messages have no bandwidth.

    `columns` has the meaning of a column by a pattern of its whole name; the values are in the order of `columns`. A statistic
    may have groups of the pattern: r"p\\1"; "p50" becomes "median".
    """
    values = []
    for pattern, (metric, unit, statistic) in columns.items():
        for name, word in row.items():
            if (about := _match_column(pattern, statistic, name)) is not None:
                values.append(make(benchmark, kernel, metric, word, unit, about, parameters, note=note))
    yield from (v for v in values if v.value or v.unit != "B/s" or parameters.get("message_bytes") != 0)


@lru_cache(maxsize=4096)
def _match_column(pattern: str, statistic: str, name: str) -> str | None:
    """Returns the statistic of a column if its name matches, else None."""
    match = re.fullmatch(pattern, name)
    return re.sub(r"^p50$", "median", match.expand(statistic)) if match else None


def rename(columns: Mapping[str, Column], **metrics: str) -> dict[str, Column]:
    """Returns the columns with other names of metrics: `rename(columns, latency="time")`."""
    return {name: (metrics.get(metric, metric), unit, statistic) for name, (metric, unit, statistic) in columns.items()}


def find_unit(word: str, moved: float, units: Sequence[str], multiples: Sequence[int] = (1,)) -> str:
    """Returns the unit in which the number is `moved` (in SI units) or a multiple of it, within 3 %.

    ValueError if there is none.
    """
    shares = {u: min(abs(number(word) * UNITS[u][0] / moved / n - 1) for n in multiples) for u in units if moved}
    unit = min(shares, key=lambda u: shares[u], default="")
    if not shares or shares[unit] > FITTING:
        raise ValueError(f"'{word}' fits its time and size in none of the units {', '.join(units)}")
    return unit


def expect_plausible(value: ForeignValue) -> None:
    """Raises ValueError for a value that no measurement has, such as a negative time, and for an impossible parameter."""
    if value.value < 0 and value.unit in _POSITIVE:
        raise ValueError(f"{value.metric} is negative ({value.value:g} {value.unit})")
    for name, given in value.parameters.items():
        counts = name in _COUNTS or name.endswith("_bytes")
        if isinstance(given, str):
            possible = not counts and len(given) <= _LONGEST
        else:
            possible = isinstance(given, int if counts else int | float) and (0 if counts else -_MOST) <= given <= _MOST
        if not possible:
            raise ValueError(f"the parameter {name} cannot be '{str(given)[:40]}'")
