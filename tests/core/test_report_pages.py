"""A page of the report is a module and its template, and nothing else is edited for it."""

from collections.abc import Callable

import pytest

import report_fixture
from steelyard.show import report
from steelyard.show.report import pages

WEATHER = '''"""The weather over the run."""

PLACE, TITLE = {place}, "Weather of {{page[where]}}"


def data(evaluation):
    return {data}


def count(page):
    return 3
'''


Install = Callable[[dict[str, str]], None]


def written(install_wing: Install, place: int, data: str) -> str:
    """The report with the page in it."""
    page = WEATHER.format(place=place, data=data)
    template = "<h1>Weather</h1><p>It rained in {{ page.where }}.</p>"
    install_wing({"pages/weather_here.py": page, "pages/weather_here.html": template})
    return report.render(report_fixture.evaluation())


@pytest.mark.parametrize(
    ("place", "before", "after"), [(25, "machine", "memory-stream"), (115, "memory-stream", "method")]
)
def test_a_made_up_page_stands_in_its_place(install_wing: Install, place: int, before: str, after: str) -> None:
    html = written(install_wing, place, '{"where": evaluation.run.machine.system}')
    system = report_fixture.machine().system
    assert f"It rained in {system}." in html
    assert (
        f'<a href="#weather-here">Weather of {system} <span class="count">3</span></a>' in html
        or place > pages.BENCHMARKS
    )
    sections = [html.index(f'<section class="page" id="{name}">') for name in (before, "weather-here", after)]
    assert sections == sorted(sections)


def test_a_page_without_data_is_left_out(install_wing: Install) -> None:
    assert "weather-here" not in written(install_wing, 25, "None")
