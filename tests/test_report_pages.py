"""A page of the report is a module and its template, and nothing else is edited for it."""

from pathlib import Path

import pytest

import report_fixture
from steelyard import report
from steelyard.report import pages

WEATHER = '''"""The weather over the run."""

PLACE, TITLE = {place}, "Weather of {{page[where]}}"


def data(evaluation):
    return {data}


def count(page):
    return 3
'''


def written(folder: Path, monkeypatch: pytest.MonkeyPatch, place: int, data: str) -> str:
    """The report with the page in it."""
    (folder / "weather_here.py").write_text(WEATHER.format(place=place, data=data))
    (folder / "weather_here.html").write_text("<h1>Weather</h1><p>It rained in {{ page.where }}.</p>")
    monkeypatch.setattr(pages, "__path__", [*pages.__path__, str(folder)])
    monkeypatch.delitem(__import__("sys").modules, "steelyard.report.pages.weather_here", raising=False)
    return report.render(report_fixture.evaluation())


@pytest.mark.parametrize(
    ("place", "before", "after"), [(25, "machine", "memory-stream"), (115, "memory-stream", "method")]
)
def test_a_made_up_page_stands_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int, before: str, after: str
) -> None:
    html = written(tmp_path, monkeypatch, place, '{"where": evaluation.run.machine.system}')
    system = report_fixture.machine().system
    assert f"It rained in {system}." in html
    assert (
        f'<a href="#weather-here">Weather of {system} <span class="count">3</span></a>' in html
        or place > pages.BENCHMARKS
    )
    sections = [html.index(f'<section class="page" id="{name}">') for name in (before, "weather-here", after)]
    assert sections == sorted(sections)


def test_a_page_without_data_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "weather-here" not in written(tmp_path, monkeypatch, 25, "None")
