"""The dashboard for Grafana: panels that query the families of `metrics` in a Prometheus."""

from typing import Any

_SOURCE = {"type": "prometheus", "uid": "${source}"}
_CHOSEN = 'system=~"$system",node=~"$node"'  # selection by the variables at the top of the dashboard
_MEASURED = f'{{part_of="",modelled="",{_CHOSEN}}}'
_POWER, _ENERGY = f"steelyard_power_watts{_MEASURED}", f"steelyard_energy_joules_total{_MEASURED}"
_MODELLED = f'steelyard_power_watts{{modelled="true",{_CHOSEN}}}'
_TEMPERATURE = f"steelyard_temperature_celsius{{{_CHOSEN}}}"
_EXACT = "`steelyard power query` gives the exact figure with its interval."
_NODES, _SYSTEMS = "(system, node, source)", "(system, source)"
_LINES = {"drawStyle": "line", "lineWidth": 1, "fillOpacity": 0, "showPoints": "never", "spanNulls": False}
_BARS = {"drawStyle": "bars", "fillOpacity": 60, "lineWidth": 1, "stacking": {"mode": "none"}}
_LEGEND = {"displayMode": "table", "placement": "bottom", "calcs": ["mean", "max"]}


def make_dashboard() -> dict[str, Any]:
    """Returns the dashboard as Grafana imports it."""
    systems, nodes = '{__name__=~"steelyard_.*"}', '{__name__=~"steelyard_.*",system=~"$system"}'
    variables = [
        {"name": "source", "label": "Data source", "type": "datasource", "query": "prometheus"},
        _make_variable("system", f"label_values({systems}, system)"),
        _make_variable("node", f"label_values({nodes}, node)"),
    ]
    return {
        "title": "Power and energy (Steelyard)",
        "uid": "steelyard-power",
        "tags": ["steelyard", "power"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "timezone": "browser",
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": variables},
        "panels": [{"id": number, **panel} for number, panel in enumerate(_make_panels(), 1)],
    }


def _make_variable(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": name.capitalize(),
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": name},
        "definition": query,
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
        "sort": 1,
    }


def _make_panels() -> list[dict[str, Any]]:
    nodes, systems, legend, whole = (
        f"sum by {_NODES}",
        f"sum by {_SYSTEMS}",
        "{{node}} {{source}}",
        "{{system}} {{source}}",
    )
    power, energy = f"(avg_over_time({_POWER}[$__rate_interval]))", f"(rate({_ENERGY}[$__rate_interval]))"
    return [
        _make_panel(
            "Power of each node",
            "Measured power by source: sensors of power, and counters of energy. What is part of another sensor is not added, "
            "and sources are not added to each other: each may hold the whole node.",
            (0, 0, 16, "watt", "1m"),
            (f"{nodes} {power}", legend),
            (f"{nodes} {energy}", legend),
        ),
        _make_panel(
            "Power of a system",
            "The chosen nodes together, by source.",
            (16, 0, 8, "watt", "1m"),
            (f"{systems} {power}", whole),
            (f"{systems} {energy}", whole),
        ),
        _make_panel(
            "Energy of each hour",
            f"Energy of the hour that ends at the bar. {_EXACT}",
            (0, 9, 16, "joule", "1h"),
            (f"{nodes} (increase({_ENERGY}[1h]))", legend),
            (f"{nodes} (3600 * avg_over_time({_POWER}[1h]))", legend),
        ),
        _make_panel(
            "Energy of the time shown",
            f"The chosen nodes together, by source. Time without readings is filled in. {_EXACT}",
            (16, 9, 8, "joule", ""),
            (f"{systems} (increase({_ENERGY}[$__range]))", whole),
            (f"{systems} ($__range_s * avg_over_time({_POWER}[$__range]))", whole),
        ),
        _make_panel(
            "Least and mean power of each hour",
            "A node whose least power is near its mean was idle, or never.",
            (0, 18, 8, "watt", "1h"),
            (f"min by {_NODES} (min_over_time({_POWER}[1h]))", f"{legend} least"),
            (f"avg by {_NODES} (avg_over_time({_POWER}[1h]))", f"{legend} mean"),
        ),
        _make_panel(
            "Temperature",
            "The hottest sensor of each node.",
            (8, 18, 8, "celsius", "1m"),
            (f"max by (system, node) (max_over_time({_TEMPERATURE}[$__rate_interval]))", "{{node}}"),
        ),
        _make_panel(
            "Modelled power",
            "Computed from the load, where nothing measures. It is never added to what is measured.",
            (16, 18, 8, "watt", "1m"),
            (f"{nodes} (avg_over_time({_MODELLED}[$__rate_interval]))", legend),
        ),
    ]


def _make_panel(
    title: str, description: str, form: tuple[int, int, int, str, str], *queries: tuple[str, str]
) -> dict[str, Any]:
    """Returns the panel of queries with their legends. `form`: x, y, width, unit, and the time between points ("": a number)."""
    x, y, width, unit, step = form
    times = {"range": bool(step), "instant": not step, **({"interval": step} if step else {})}
    targets = [
        {"datasource": _SOURCE, "expr": query, "legendFormat": legend, "refId": letter, **times}
        for letter, (query, legend) in zip("AB", queries, strict=False)
    ]
    number = {"reduceOptions": {"calcs": ["lastNotNull"]}, "textMode": "value_and_name"}
    style = {} if not step else _BARS if unit == "joule" else _LINES
    return {
        "title": title,
        "description": description,
        "type": "timeseries" if step else "stat",
        "datasource": _SOURCE,
        "gridPos": {"x": x, "y": y, "w": width, "h": 9},
        "fieldConfig": {"defaults": {"unit": unit, "custom": style}, "overrides": []},
        "targets": targets,
        "options": {"legend": _LEGEND, "tooltip": {"mode": "multi"}} if step else number,
    }
