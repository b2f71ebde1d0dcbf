"""A run report in the form of ReFrame 4, with the schema 4.1 of its data.

https://reframe-hpc.readthedocs.io/en/stable/manpage.html#run-report

A result is a test case. Its performance variables are its metrics in SI units, without a reference. The attributes `verdict`,
`evidence`, `intervals` (95 %) and `statistics` (of another tool), both by metric, are those of Steelyard. An
INVALID result is a failed test case.
"""

import json
import uuid
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from steelyard.model import Evaluation, Result
from steelyard.show.report import values
from steelyard.show.report.exports._exported import (
    find_end,
    make_word,
    name_case,
    name_writer,
    scale_percent,
    spell_evidence,
    spell_parameters,
)
from steelyard.show.report.exports.reframe_log import name_environment, name_test

DATA_VERSION = "4.1"
PARTITION = "default"


def parts(evaluation: Evaluation) -> Iterator[str]:
    """Yields the report, test case by test case."""
    run, session = evaluation.run, str(uuid.uuid5(uuid.NAMESPACE_URL, f"{evaluation.run.id} {evaluation.run.started}"))
    failed = sum(values.level(r) == "INVALID" for r in evaluation.results)
    counts = {"num_cases": len(evaluation.results), "num_failures": failed, "num_aborted": 0, "num_skipped": 0}
    moments = [moment for r in evaluation.results if (moment := find_end(evaluation, r))]
    session_info = {
        "data_version": DATA_VERSION,
        "hostname": run.machine.host,
        "uuid": session,
        "version": name_writer(evaluation),
        "cmdline": " ".join(run.command),
        **_find_times(moments),
        **counts,
    }
    yield f'{{"session_info": {json.dumps(session_info)},\n'
    yield f'"runs": [{{"run_index": 0, {json.dumps(counts)[1:-1]}, "testcases": ['
    for number, result in enumerate(evaluation.results):
        case = _make_case(evaluation, result) | {
            "session_uuid": session,
            "uuid": f"{session}:0:{number}",
            "run_index": 0,
            "testcase_index": number,
        }
        yield f"{',' if number else ''}\n{json.dumps(case)}"
    yield ']}],\n"restored_cases": []}\n'


def _find_times(moments: list[datetime]) -> dict[str, Any]:
    if not moments:
        return {}
    first, last = min(moments), max(moments)
    return {
        "time_start": first.strftime("%Y%m%dT%H%M%S%z"),
        "time_start_unix": first.timestamp(),
        "time_end": last.strftime("%Y%m%dT%H%M%S%z"),
        "time_end_unix": last.timestamp(),
        "time_elapsed": (last - first).total_seconds(),
    }


def _make_case(evaluation: Evaluation, result: Result) -> dict[str, Any]:
    machine, moment, level = evaluation.run.machine, find_end(evaluation, result), values.level(result)
    system = make_word(machine.host)
    is_valid = level != "INVALID"
    metrics = result.metrics if is_valid else {}
    benchmark = evaluation.benchmarks.get(result.benchmark)
    return {
        "name": name_test(result),
        "unique_name": name_test(result).replace(" ", "_"),
        "display_name": name_test(result),
        "descr": benchmark.title if benchmark else name_case(result),
        "system": system,
        "partition": PARTITION,
        "environ": name_environment(result),
        "scheduler": "local",
        "jobid": evaluation.run.job,
        "job_nodelist": [host.name for host in machine.hosts] or [machine.host],
        "job_completion_time": moment.isoformat(timespec="seconds") if moment else None,
        "job_completion_time_unix": moment.timestamp() if moment else None,
        "num_tasks": result.parameters.get("ranks", 1),
        "check_params": dict(result.parameters),
        "filename": f"{result.benchmark} ({spell_parameters(result.parameters)})",
        "fixture": False,
        **{key: [] for key in ("tags", "maintainers", "dependencies_actual", "dependencies_conceptual")},
        **dict.fromkeys(("build_stdout", "build_stderr", "job_stdout", "job_stderr", "stagedir", "outputdir")),
        "result": "pass" if is_valid else "fail",
        "fail_phase": None if is_valid else "sanity",
        "fail_reason": None if is_valid else spell_evidence(result),
        "time_total": None,
        "perfvalues": {
            f"{system}:{PARTITION}:{name}": [scale_percent(value.value, value.unit), 0, None, None, value.unit, "pass"]
            for name, value in metrics.items()
        },
        "verdict": level,
        "evidence": spell_evidence(result),
        "intervals": {
            name: [scale_percent(end, value.unit) for end in (value.low, value.high)] for name, value in metrics.items()
        },
        "statistics": {name: value.statistic for name, value in metrics.items() if value.statistic},
        "scopes": {name: list(value.scope) for name, value in metrics.items() if value.scope},
    }
