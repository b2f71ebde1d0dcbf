"""The rows of document 004 on the page of the five evaluations: planted numbers come out of the figures and tables."""

from dataclasses import replace

import pytest

import builders
from planted import judged, printed, row, show, sockets
from steelyard.compare import published_figures
from steelyard.model import Cache, Host, Machine, Result
from steelyard.show.report.pages import machine as machine_page


def ha8000() -> Machine:
    """Four processors of four cores, with the printed caches."""
    here = sockets(4, 1, 16, system="HA8000", hosts=(Host("node1", 16), Host("node2", 16)))
    sizes = {n: int(printed("004", "peak", f"l{n}_cache")[0].value) for n in (1, 2, 3)}
    own = [Cache(n, "data" if n == 1 else "unified", sizes[n], 64, (cpu,)) for n in (1, 2) for cpu in here.cpus]
    shared = [Cache(3, "unified", sizes[3], 64, tuple(node.cpus), True) for node in here.nodes]
    return replace(here, caches=(*own, *shared))


PLACES = {"same cache": (0, 1), "other socket": (0, 4), "other node": (0, 0)}


def sendrecv(transport: str = "default", factor: float = 2.0) -> list[Result]:
    """Reused buffers are faster by `factor` at the printed sizes; a link of 1 GB/s, and sockets that differ up to 2 MB."""
    first, last = (int(e.value) for e in printed("004", "sendrecv", "too_fast"))
    results = []
    for place, cpus in PLACES.items():
        hosts = ("node1", "node2") if place == "other node" else ("node1", "node1")
        if transport != "default" and place == "other node":
            continue
        for size in (1 << k for k in range(10, 23)):
            plain = {"same cache": 2e9, "other socket": 1.6e9 if size < 2 << 20 else 2e9, "other node": 1e9}[place]
            for buffers in ("reused", "fresh"):
                gain = factor if buffers == "reused" and place == "same cache" and first <= size <= last else 1.0
                results.append(
                    builders.message(
                        size / plain / gain / 2,
                        size,
                        benchmark="network.sendrecv",
                        kernel="sendrecv",
                        spread=0.0,
                        placement=place,
                        transport=transport,
                        buffers=buffers,
                        cpus=cpus,
                        hosts=hosts,
                    )
                )
    return [
        replace(
            r,
            records=tuple(
                replace(x, work={"messages": 1.0, "bytes_sent": float(r.parameters["message_bytes"])})
                for x in r.records
            ),
        )
        for r in results
    ]


@row("004", "Table 1")
def test_004_table_1() -> set[str]:
    page = machine_page.data(judged(sendrecv()[:1], ha8000()))
    cells = [" ".join(cells) for cells in page.caches]
    assert [any(size in cell for cell in cells) for size in ("64 KiB", "512 KiB", "2 MiB")] == [True] * 3
    ours = {
        line.metric: line.ratio for line in published_figures.compare(judged(sendrecv()[:1], ha8000()), "HA8000").lines
    }
    assert [ours[f"L{n} cache"] for n in (1, 2, 3)] == [1.0] * 3
    return set()


@row("004", "Figure 1")
def test_004_figure_1() -> set[str]:
    shown = show(judged(sendrecv(), ha8000()), "network.sendrecv")
    title = "Sendrecv: bandwidth against the size of the message"
    lines = shown.lines(title, "message size", "bandwidth", "B/s")
    assert len(lines) == 6
    at = {name: dict(zip(line.x, line.y, strict=True)) for name, line in lines.items()}
    assert at["same cache placement, fresh buffers"][65536.0] == pytest.approx(2e9)
    assert at["same cache placement, reused buffers"][65536.0] == pytest.approx(4e9)
    assert at["other socket placement, reused buffers"][65536.0] == pytest.approx(1.6e9)
    assert at["other node placement, reused buffers"][65536.0] == pytest.approx(1e9)
    (band,) = shown.figures[title].bands
    assert (band.low, band.high) == (pytest.approx(32768 / 2**0.5), pytest.approx(131072 * 2**0.5))
    assert "the core's own cache" in band.label
    return shown.titles


@row("004", "Figure 2")
def test_004_figure_2() -> set[str]:
    made = judged(sendrecv(), ha8000(), findings=True)
    assert "reused" in show(made, "network.sendrecv").page.benchmark.reading
    seen = [f.seen for f in made.findings if "Sendrecv" in f.seen or "eused buffers" in f.seen]
    assert any("32 KiB to 128 KiB" in text and "2.0" in text for text in seen), [f.seen for f in made.findings]
    return set()


@row("004", "Figure 3")
def test_004_figure_3() -> set[str]:
    """Without shared memory, reused buffers are as fast as fresh ones."""
    shown = show(judged(sendrecv("no shared memory", 1.0), ha8000()), "network.sendrecv")
    title = "Sendrecv: bandwidth against the size of the message"
    lines = shown.lines(title, "message size", "bandwidth", "B/s")
    for place in ("same cache", "other socket"):
        reused, fresh = (lines[f"{place} placement, {kind} buffers"] for kind in ("reused", "fresh"))
        assert reused.y == pytest.approx(fresh.y)
    assert shown.figures[title].bands == ()
    return shown.titles
