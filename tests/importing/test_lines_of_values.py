"""Each value names the line of its file in which its number stands, or none: never another line."""

import json
import quopri
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

import pytest

from foreign_outputs import OUTPUTS, output, read
from steelyard.importing.reading import Reading
from steelyard.importing.values import UNITS, seconds
from steelyard.model.foreign import ForeignValue

FILES = sorted(file.name for file in OUTPUTS.iterdir() if file.suffix != ".csv" or file.name.startswith("unseen"))
NUMBER = re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+")
BARE = re.compile(r"\d+\.?\d*(?:[eE][-+]?\d+)?")
CLOCK = re.compile(r"(?:\d+[dhm] *)*(?:[\d.]+s|\d+m)")
FACTORS = {factor for factor, _ in UNITS.values()}
# Structured files, and tables whose numbers a format takes from several lines or computes. The others have a line everywhere.
WITHOUT = {
    "DCGM", "GROMACS", "Google Benchmark", "IOR", "LMbench", "NVBench", "Phoronix Test Suite", "ReFrame", "SuperBench",
    "elbencho", "fio", "gpu-burn", "hyperfine", "iperf3", "mdtest", "nvbandwidth", "pytest-benchmark", "sacct", "sockperf",
    "Caliper", "SPARTA",
}  # fmt: skip


def list_numbers(line: str) -> Iterator[float]:
    for word in (*NUMBER.findall(line), *BARE.findall(line)):
        with suppress(ValueError):
            yield float(word.replace(",", ""))
    yield from (seconds(word) for word in CLOCK.findall(line))


def has_number(line: str, value: float) -> bool:
    return any(abs(value - number * factor) <= 1e-9 * abs(value) for number in list_numbers(line) for factor in FACTORS)


def list_lines(reading: Reading) -> Counter[tuple[object, ...]]:
    return Counter((*value.case, value.value, value.line) for value in reading.values)


def move(value: ForeignValue, lines: int) -> int:
    return value.line + lines if value.line else 0


@pytest.mark.parametrize("file", FILES)
def test_the_named_line_has_the_number(file: str) -> None:
    text = output(file)
    lines = text.split("\n")
    assert not [
        (v.metric, v.value, v.line) for v in read(text).values if v.line and not has_number(lines[v.line - 1], v.value)
    ]


def test_nearly_all_values_of_texts_have_a_line() -> None:
    with_line, without = Counter[str](), Counter[str]()
    for file in FILES:
        for value in read(output(file)).values:
            (with_line if value.line else without)[value.tool] += 1
    assert set(without) == WITHOUT
    assert len({*with_line} - {*without}) >= 59
    assert with_line.total() > 0.9 * (with_line + without).total()


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "file", ["imb_mpi1.txt", "stream.txt", "namd.txt", "mlc.txt", "babelstream_5.txt", "ior_4.txt"]
)
@pytest.mark.parametrize("before", ["\n\n\n", "progress 1 %\rprogress 2 %\r\n\n\f\n", "\x1b[31mbuilt\x1b[0m\n\n\x0b\n"])
def test_text_above_moves_the_lines(file: str, before: str) -> None:
    text = output(file)
    moved = Counter((*v.case, v.value, move(v, 3)) for v in read(text).values)
    assert list_lines(read(before + text)) == moved
    assert list_lines(read((before + text).replace("\n", "\r\n"))) == moved


def test_a_quoted_output_keeps_its_lines() -> None:
    text = output("stream.txt")
    quoted = "".join(f"> {line}\n" for line in text.splitlines())
    assert list_lines(read(quoted)) == list_lines(read(text))


def test_an_encoded_mail_has_no_lines() -> None:
    encoded = quopri.encodestring(output("stream.txt").encode()).decode()
    mail = (
        f"Content-Transfer-Encoding: quoted-printable\n\nAs measured today, on the machine{'=3D' * 30}=\n=\n{encoded}"
    )
    assert {v.line for v in read(mail).values} == {0}


def test_a_string_of_json_has_no_lines() -> None:
    values = read(json.dumps({"output": output("stream.txt")}, indent=1)).values
    assert values
    assert {v.line for v in values} == {0}


def test_a_damaged_line_moves_no_other_line() -> None:
    text = output("stream.txt")
    damaged = "spin \\\rspin |\n12\x0034\x0b56\x0c\n" + text
    moved = Counter((*v.case, v.value, move(v, 2)) for v in read(text).values)
    assert list_lines(read(damaged.replace("\x00", "\x02"))) == moved
