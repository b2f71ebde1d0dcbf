"""Our own API: sensors, readings, rollups, gaps and energy, as JSON; the readings also as CSV in DCDB's form."""

import time
from dataclasses import fields
from typing import Annotated, Any, Literal

import fastapi
import msgspec
from fastapi import APIRouter, Response

from steelyard.errors import UsageError
from steelyard.model.sensor import Rollup, Sensor
from steelyard.power.http.answers import EnergyOf, GapOf, RollupOf, SensorOf, TraceOf
from steelyard.power.http.readings import Readings, TooMuch
from steelyard.power.moments import moment
from steelyard.power.rollup import LEVELS, SECOND
from steelyard.power.stores import END
from steelyard.telemetry import energy as energies

MOST_ROWS = 1_000_000  # of an answer
MOST_SENSORS = 1000
MARGIN = 600 * SECOND  # ns of readings around a stretch, between which the energy at its edges lies

_MOMENT = "now, now-1h, 2026-11-22T14:00:00+00:00, or ns since 1970"
Node = Annotated[str, fastapi.Query(description="SYSTEM/NODE")]
Name = Annotated[str, fastapi.Query(description="name of the sensor on its node, such as rapl/package-0")]
Names = Annotated[list[str], fastapi.Query(description="SYSTEM/NODE/SENSOR; repeat it for each sensor")]
Level = Annotated[int, fastapi.Query(description="length of an interval in seconds: 1, 60 or 3600")]
From = Annotated[str, fastapi.Query(alias="from", description=_MOMENT)]
To = Annotated[str, fastapi.Query(description=_MOMENT)]


class Own:
    """The answers of the API. UsageError for things that do not exist, TooMuch for answers that are too large."""

    def __init__(self, readings: Readings) -> None:
        self._readings = readings

    def router(self) -> Any:
        made = APIRouter(prefix="/api/steelyard", tags=["steelyard"])
        made.add_api_route("/sensors", self.sensors, response_model=list[SensorOf])
        made.add_api_route("/trace", self.trace, response_model=TraceOf)
        made.add_api_route("/rollup", self.rollup, response_model=list[RollupOf])
        made.add_api_route("/gaps", self.gaps, response_model=list[GapOf])
        made.add_api_route("/energy", self.energy, response_model=EnergyOf)
        return made

    def sensors(self) -> Any:
        """Returns the sensors of all nodes."""
        nodes = sorted(self._readings.sensors().items())
        return _json([_described(node, sensor) for node, sensors in nodes for sensor in sensors])

    def trace(
        self, node: Node, sensor: Name, from_: From = "now-1h", to: To = "now", form: Literal["json", "csv"] = "json"
    ) -> Any:
        """Returns the readings of a sensor in a period."""
        start, end = _stretch(from_, to)
        description = self._sensor(node, sensor)
        with self._readings.query() as query:
            readings = query.trace(node, description, start, end)
        _expect_few(len(readings.at))
        at, value = readings.at.tolist(), readings.value.tolist()
        if form == "json":
            return _json(TraceOf(node, sensor, description.unit, at, value))
        lines = [f"/{node}/{sensor},{when},{number:.12g}\n" for when, number in zip(at, value, strict=True)]
        return Response("".join(("Sensor,Time,Value\n", *lines)), media_type="text/csv")

    def rollup(self, sensor: Names, level: Level = 60, from_: From = "now-1h", to: To = "now") -> Any:
        """Returns the readings of several sensors, aggregated by second, minute or hour."""
        start, end = _stretch(from_, to)
        if level not in LEVELS:
            raise UsageError(
                f"The level {level} does not exist. Choose one of {', '.join(map(str, LEVELS))} (seconds)."
            )
        if len(sensor) > MOST_SENSORS:
            raise UsageError(f"The request names {len(sensor)} sensors. Ask for at most {MOST_SENSORS} at a time.")
        stored = {
            f"{node}/{s.name}": (node, s) for node, described in self._readings.sensors().items() for s in described
        }
        for name in sensor:
            if name not in stored:
                raise UsageError(f"The store has no sensor '{name}'. {_LISTED}")
        wanted = {(node, s.name): s for name in sensor for node, s in (stored[name],)}
        answer, rows = [], 0
        with self._readings.query() as query:
            for (node, name), part in query.rollup(list(wanted), level, start, end):
                rows += len(part.at)
                _expect_few(rows)
                answer.append(_stretches(node, wanted[node, name], part))
        return _json(answer)

    def gaps(self, node: Node, from_: From = "now-1h", to: To = "now") -> Any:
        """Returns the periods in which sensors of a node have no readings, and the reasons."""
        start, end = _stretch(from_, to)
        self._sensors(node)
        periods = self._readings.gaps(node, start, end)
        return _json([GapOf(list(gap.sensors), gap.start, gap.end, gap.why) for gap in periods])

    def energy(self, node: Node, sensor: Name, from_: From = "now-1h", to: To = "now") -> Any:
        """Returns the energy of a period with its interval, from a sensor of energy or power."""
        start, end = _stretch(from_, to)
        description = self._sensor(node, sensor)
        if description.quantity not in ("energy", "power"):
            raise UsageError(
                f"The sensor '{sensor}' measures {description.quantity}. Name a sensor of energy or power."
            )
        with self._readings.query() as query:
            trace = query.trace(node, description, start - MARGIN, end + MARGIN)
        course = energies.course(trace)
        result = energies.reached(course, start, end) if course else None
        if result is None:
            return _json(
                EnergyOf(node=node, sensor=sensor, start=start, end=end, missing=None if len(trace.at) else 1.0)
            )
        names = ("missing", "seconds", "joules", "low", "high", "power", "greatest", "over")
        spent = {name: None if (value := getattr(result, name)) is None else float(value) for name in names}
        return _json(EnergyOf(node=node, sensor=sensor, start=start, end=end, **spent))

    def _sensors(self, node: str) -> tuple[Sensor, ...]:
        described = self._readings.sensors().get(node)
        if described is None:
            raise UsageError(f"The store has no node '{node}'. {_LISTED}")
        return described

    def _sensor(self, node: str, name: str) -> Sensor:
        match = next((described for described in self._sensors(node) if described.name == name), None)
        if match is None:
            raise UsageError(f"The node '{node}' has no sensor '{name}'. {_LISTED}")
        return match


_LISTED = "/api/steelyard/sensors lists all sensors."


def _stretch(since: str, until: str) -> tuple[int, int]:
    now = time.time_ns()
    start, end = moment(since, "(given by from)", now), moment(until, "(given by to)", now)
    if not 0 <= start < end < END:
        raise UsageError(f"The period from '{since}' to '{until}' is empty, or it lies before 1970 or after 2116.")
    return start, end


def _expect_few(rows: int) -> None:
    if rows > MOST_ROWS:
        raise TooMuch(f"The answer has more than {MOST_ROWS} rows. Ask for a shorter period or for a higher level.")


def _described(node: str, sensor: Sensor) -> SensorOf:
    return SensorOf(
        node=node, **{column.name: getattr(sensor, column.name) for column in fields(SensorOf) if column.name != "node"}
    )


def _stretches(node: str, described: Sensor, rollup: Rollup) -> RollupOf:
    unit = "W" if described.quantity == "energy" else described.unit
    return RollupOf(
        node=node,
        sensor=described.name,
        unit=unit,
        seconds=rollup.seconds,
        at=rollup.at.tolist(),
        count=rollup.count.tolist(),
        least=rollup.least.tolist(),
        mean=rollup.mean.tolist(),
        greatest=rollup.greatest.tolist(),
        joules=rollup.joules.tolist(),
        known=rollup.known.tolist(),
    )


def _json(answer: Any) -> Any:
    """Writes JSON by msgspec, which writes NaN as null."""
    return Response(msgspec.json.encode(answer), media_type="application/json")
