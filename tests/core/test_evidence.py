"""Evidence: its kinds and numbers stand in one table each, and it is written as a sentence in one way."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import builders
import steelyard
from steelyard.judge.findings import disturbances
from steelyard.model import Check, Evidence, Record, Setting
from steelyard.model.evidence import KINDS, NUMBERS, distinct, noted, sentence, sentences
from steelyard.model.plain import to_json
from steelyard.statistics.results.result import select_believed
from steelyard.statistics.validity.measures import MEASURES
from steelyard.statistics.validity.pace import UNBOUNDED
from steelyard.statistics.validity.verdict import judge_record

PACKAGE = Path(steelyard.__file__).parent


def test_what_disturbs_has_a_remedy_and_nothing_else() -> None:
    here = builders.machine()
    assert all(bool(disturbances.suggest_remedy(n, here)) == (k.level == "DISTURBED") for n, k in KINDS.items())
    assert all(disturbances.suggest_remedy(m.cause, here) for m in MEASURES.values())


@pytest.mark.parametrize("kind", ["steal", "core clock", "shared core", "shared memory"])
def test_beside_windows_the_remedy_is_about_its_own_load(kind: str) -> None:
    wsl = builders.machine(settings=(Setting("hypervisor", "WSL2", ""),))
    assert disturbances.suggest_remedy(kind, wsl).startswith("Close the programs of Windows")


def test_every_kind_and_every_number_of_the_tables_is_noted_somewhere() -> None:
    where = [*(PACKAGE / "statistics").glob("*/*.py"), PACKAGE / "measure/run/asking.py"]
    source = "".join(path.read_text(encoding="utf-8") for path in where)
    assert not [kind for kind in KINDS if f'"{kind}"' not in source]
    assert not [name for name in NUMBERS if f" {name}=" not in source and f'"{name}"' not in source]


def test_a_kind_or_a_number_that_is_in_no_table_is_refused() -> None:
    with pytest.raises(AssertionError, match="moonshine"):
        noted("moonshine", "it was full.")
    with pytest.raises(AssertionError, match="moons"):
        noted("steal", "it was full.", moons=1)


def test_evidence_has_only_known_numbers_that_json_can_hold() -> None:
    found = noted("steal", "much.", seconds=np.float32(0.5), elapsed=None, share=math.inf, moved=math.nan, samples=3)
    assert found.numbers == {"seconds": 0.5, "samples": 3}
    assert json.loads(to_json(found)) == {"kind": "steal", "text": "much.", "numbers": {"seconds": 0.5, "samples": 3}}


def test_evidence_is_written_with_its_kind_and_its_launch_before_it() -> None:
    seen = noted("core clock", "the true clock dropped.", change=-0.1)
    assert sentence(seen) == "core clock: the true clock dropped."
    assert sentence(replace(seen, numbers={"launch": 3.0})) == "launch 3: core clock: the true clock dropped."
    assert sentence(Evidence("", "Something: else.")) == "Something: else."
    assert sentences([seen, Evidence("", "So.")]) == "core clock: the true clock dropped. So."


def test_of_evidence_that_reads_the_same_one_is_kept() -> None:
    first, again = (noted("steal", "0.3 s.", seconds=x) for x in (0.301, 0.302))
    other = noted("steal", "0.4 s.", seconds=0.4)
    assert distinct([first, other, again]) == (first, other)


def test_a_launch_that_was_left_out_is_named_with_its_own_evidence() -> None:
    good = builders.triad(1e10, launches=2).records
    wrong = replace(good[1], check=Check(False, "a[0] is 1"))
    records = [judge_record(r, UNBOUNDED) for r in (good[0], wrong)]
    used, verdict = select_believed(records)
    assert [r.launch for r in used] == [1]
    assert [sentence(e) for e in verdict.evidence] == [
        "1 of 2 launches were disturbed or invalid and were left out.",
        "launch 2: check: the result is wrong: a[0] is 1",
    ]
    assert [(e.kind, e.numbers) for e in verdict.evidence] == [("", {"launches": 1, "of": 2}), ("check", {"launch": 2})]


def test_disturbed_launches_that_say_the_same_say_it_once() -> None:
    def shaken(launch: int, seconds: float) -> Record:
        told = noted("steal", "the hypervisor gave processors used to other guests for 0.3 s.", seconds=seconds)
        record = builders.triad(1e10, launches=1).records[0]
        return replace(record, launch=launch, verdict=builders.Verdict("DISTURBED", (told,)))

    _, verdict = select_believed([shaken(1, 0.301), shaken(2, 0.302)])
    (told,) = verdict.evidence
    assert told.numbers == {"seconds": 0.301}
