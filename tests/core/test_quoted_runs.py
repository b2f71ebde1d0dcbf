"""What papers quote of a run: its digest, its citation, its figures with captions."""

import hashlib
import json
import random
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from copied_runs import measure_small
from damage import renewed, unpack
from steelyard.measure.published import system_library
from steelyard.measure.records import sums
from steelyard.show.command_line import cli
from steelyard.show.report import citation, latex_letters


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one run of a small case."""
    return measure_small(tmp_path_factory.mktemp("quoted") / "runs", 1)


@pytest.fixture
def run(measured: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "runs" / "b0"
    copy.mkdir(parents=True)
    for file in (measured / "b0").iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return copy


def say(run: Path, words: str, capsys: pytest.CaptureFixture[str], code: int = 0) -> str:
    assert cli.run_and_explain(lambda: cli.app([*words.split(), "--runs", str(run.parent)])) == code
    return capsys.readouterr().out


def test_a_run_is_unchanged_when_it_ended_and_sha256sum_agrees(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert re.fullmatch(r"b0: unchanged since it ended \(digest [0-9a-f]{12}\)\n", say(run, "verify", capsys))
    done = subprocess.run(["sha256sum", "--check", "--strict", sums.SUMS], cwd=run, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout
    (digest,) = json.loads(say(run, "cite b0 --json", capsys))
    assert hashlib.sha256((run / sums.SUMS).read_bytes()).hexdigest().startswith(digest["digest"])


def test_what_is_made_of_the_records_does_not_change_the_digest(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sums.find_digest(run)
    for words in ("judge", "report", "show"):
        say(run, words, capsys)
    (run / "report.html").unlink()
    (run / "results.jsonl").unlink()
    assert sums.find_digest(run) == before
    assert sums.verify(run).same


@pytest.mark.parametrize("name", ["run.json", "records.jsonl", "finished.json"])
def test_any_changed_byte_and_any_missing_file_is_named(
    run: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content = (run / name).read_bytes()
    for seed in range(20):
        at = random.Random(seed).randrange(len(content))
        (run / name).write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert sums.verify(run).changed == (name,)
        (run / name).write_bytes(content)
    assert sums.verify(run).same
    if name != "run.json":  # without it the folder is no run
        (run / name).unlink()
        assert f"missing: {name} (digest" in say(run, "verify", capsys, 1)
    (run / "power.jsonl").write_text("{}\n")
    assert sums.verify(run).added == ("power.jsonl",)


def test_a_run_without_check_sums_and_damaged_ones_get_a_sentence(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / sums.SUMS).write_text("no sums\n")
    assert cli.run_and_explain(lambda: cli.app(["verify", str(run)])) == 4
    assert "SHA256SUMS has a line that is no checksum" in capsys.readouterr().err
    (run / sums.SUMS).unlink()
    assert "it has no checksums" in say(run, "verify", capsys, 1)


@pytest.mark.parametrize("author", ["", "Ada Lovelace and Charles Babbage", "100 % A & B_{c} #1 \\ ~"])
def test_a_citation_is_an_entry_that_bibtex_reads(run: Path, author: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["cite", "b0", "Fugaku", "--runs", str(run.parent), *(["--author", author] if author else [])]
    assert cli.run_and_explain(lambda: cli.app(words)) == 0
    entries = dict(re.findall(r"@misc\{([\w-]+),\n(.*?)\n\}\n", capsys.readouterr().out, re.DOTALL))
    assert len(entries) == 2
    for text in entries.values():
        lines = text.splitlines()
        assert all(re.fullmatch(r"  [a-z]+ = (?:\{.*\}|[a-z]{3}),", line) for line in lines)
        escapes = re.sub(r"\\[{}]", "", text)
        assert escapes.count("{") == escapes.count("}")
        assert bool(author and "note = {Run b0" in text) == ("author" in text)
    assert any(f"digest {sums.find_digest(run)}" in text for text in entries.values())


def test_every_published_system_has_a_citation_of_its_own() -> None:
    systems = system_library.list_systems()
    found = [citation.cite_system(system) for system in systems]
    assert len({one.bibtex.partition("\n")[0] for one in found}) == len(systems) > 100
    assert all(latex_letters.escaped(s.source) in one.bibtex for s, one in zip(systems, found, strict=True))


def test_a_changed_run_is_cited_with_a_warning(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (run / "records.jsonl").open("a") as file:
        file.write("\n")
    assert cli.run_and_explain(lambda: cli.app(["cite", "b0", "--runs", str(run.parent)])) == 0
    told = capsys.readouterr()
    assert sums.find_digest(run) in told.out
    assert told.err == (
        "steelyard: The files of b0 are not as they were when it ended. To see which: steelyard verify b0\n"
    )


def test_tables_for_papers_name_the_digest(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("markdown", "latex"):
        assert f"run b0, digest {sums.find_digest(run)}" in say(run, f"export --format {form} --main", capsys)


# --------------------------------------------------------------------------- figures


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return renewed(unpack(tmp_path_factory.mktemp("whole") / "runs"))


def figures(whole: Path, words: str, capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(say(whole, f"figure {words} --json", capsys))


def test_each_listed_figure_is_written_by_its_name(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = figures(whole, "", capsys)
    names = [one["figure"] for one in listed]
    assert len(set(names)) == len(names) > 5
    for name in random.Random(1).sample(names, 3):
        for form, start in (("pdf", b"%PDF"), ("svg", b"<?xml")):
            made = figures(whole, f"{name} -o {tmp_path / f'f.{form}'} --style ieee", capsys)
            assert Path(made["file"]).read_bytes().startswith(start)
            assert made["title"] in [one["title"] for one in listed if one["figure"] == name]


def test_the_caption_names_what_launches_machine_and_digest(
    whole: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made = figures(whole, f"triad-threads -o {tmp_path / 'f.svg'}", capsys)
    caption = made["caption"]
    assert caption.startswith(f"{made['title']}.")
    assert re.search(r"Each value is the median of (?:\d+ to )?\d+ launch(?:es)?\.", caption)
    assert "95 % interval" in caption
    assert caption.endswith(f"digest {sums.find_digest(whole)}.")
    assert not re.search(r"See the table|table of results|pointer", caption)


def test_the_caption_for_latex_has_escapes(whole: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plain, latex = (
        figures(whole, f"triad-threads -o {tmp_path / 'f.svg'} {option}", capsys)["caption"]
        for option in ("", "--latex")
    )
    assert latex == latex_letters.escaped(plain)
    assert r"95 \% interval" in latex


def test_a_figure_of_two_sides_names_both_runs(
    whole: Path, measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = figures(whole, f"triad-threads {whole} {measured / 'b0'} -o {tmp_path / 'f.svg'}", capsys)
    for run in (whole, measured / "b0"):
        assert f"digest {sums.find_digest(run)}" in made["caption"]


def test_an_unknown_figure_is_refused_with_the_nearest_name(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["figure", "triad-thread", str(whole), "-o", str(tmp_path / "f.svg")]
    assert cli.run_and_explain(lambda: cli.app(words)) == 2
    assert list(tmp_path.iterdir()) == []
    assert "There is no figure 'triad-thread'. Did you mean 'triad-threads'?" in capsys.readouterr().err


def test_a_report_of_one_benchmark_is_a_file_of_its_own(whole: Path, measured: Path, tmp_path: Path) -> None:
    def write(*words: str) -> set[str]:
        made = tmp_path / "r.html"
        assert (
            cli.run_and_explain(lambda: cli.app(["report", str(whole), *words, "--only", "memory", "-o", str(made)]))
            == 0
        )
        return set(
            re.findall(
                r'<section[^>]* id="((?:memory|core|network|node|application|cluster)-[a-z-]+)"', made.read_text()
            )
        )

    before = (whole / "report.html").read_bytes() if (whole / "report.html").exists() else b""
    pages = write()
    assert "memory-stream" in pages
    assert all(page.startswith("memory-") for page in pages)
    assert all(page.startswith("memory-") for page in write(str(measured / "b0")))
    assert cli.run_and_explain(lambda: cli.app(["report", str(whole), "--only", "memory"])) == 2
    assert (
        cli.run_and_explain(lambda: cli.app(["report", str(whole), "--only", "memry", "-o", str(tmp_path / "x")])) == 2
    )
    assert not (tmp_path / "x").exists()
    assert ((whole / "report.html").read_bytes() if (whole / "report.html").exists() else b"") == before
