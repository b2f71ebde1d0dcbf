"""The scenario of a replay: its file, the values of --set, its mistakes, and a prediction that is repeated from its JSON."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from folders import ROOT
from output_schemas import read_output
from replays import stencil, this_machine, ti
from steelyard import whatif
from steelyard.errors import UsageError
from steelyard.model.settings_file import SettingsFile
from steelyard.show.command_line.cli import app
from steelyard.whatif import scenario
from steelyard.whatif.network import NETWORK
from steelyard.whatif.perturbation import LOSS
from steelyard.whatif.scenario_points import describe_point
from traces import FINALIZE, by_hand, folded, rank_file, record

EXAMPLES = sorted((ROOT / "examples" / "scenarios").glob("*.toml"))


@pytest.fixture(autouse=True)
def _described_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.measure.machine.describe", this_machine)


def rows(*words: str) -> list[dict[str, Any]]:
    done = CliRunner().invoke(app, ["whatif", *words, "--json"])
    assert done.exit_code == 0, done.output
    answers = read_output("whatif", done.stdout)
    return answers if isinstance(answers, list) else [answers]


def read(text: str, folder: Path, *settings: str) -> dict[str, tuple[whatif.Point, ...]]:
    path = folder / "cluster.toml"
    path.write_text(text, encoding="utf-8")
    return whatif.list_points(whatif.read_scenario(whatif.load_scenario(path), settings), folder)


@pytest.mark.parametrize(
    ("path", "points"), list(zip(EXAMPLES, (15, 2, 3), strict=True)), ids=lambda x: getattr(x, "stem", "")
)
def test_each_example_is_replayed(path: Path, points: int, tmp_path: Path) -> None:
    ranks = [[record(24, 100, 0, folded(2)), record(9, 90_000, 0, 3, 0, 8), FINALIZE] for _ in range(4)]
    trace = by_hand(tmp_path / "trace", [rank_file(rank, 4, own) for rank, own in enumerate(ranks)])
    answers = rows(str(trace), "--scenario", str(path), "--set", "repeats=3")
    assert len(answers) == points
    assert all(answer["time"] > 80e-6 / 8 for answer in answers)


def test_a_section_adds_to_the_file_and_set_replaces(tmp_path: Path) -> None:
    text = """
        affected = "50%"
        [network]
        latency = "2us"
        within = {L = "300ns"}
        [loss]
        rto = "5ms"
        [scenario.A]
        loss.probability = [0.001, "1%"]
        [scenario.B]
        network.latency = "9us"
        core.region.3-5 = 2
    """
    first, second = read(text, tmp_path, "loss.rto=40ms", "network.gap=1us").values()
    assert [(p.loss.probability, p.loss.rto, p.affected) for p in first] == [(0.001, 0.04, 0.5), (0.01, 0.04, 0.5)]
    assert (first[0].network.across[0].L, second[0].network.across[0].L) == (2e-6, 9e-6)
    assert [p.network.across[0].g for p in (*first, *second)] == [1e-6] * 3
    assert (str(second[0].speeds[0]), second[0].loss.probability) == ("× 2 region 3-5", 0)
    (whole,) = read('[network]\nlatency = "2us"\nwithin = {L = "1us"}', tmp_path, "network=L=5us")[""]
    assert (whole.network.across[0].L, whole.network.within) == (pytest.approx(5e-6), None)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[network]\nlatncy = '2us'", "line 2, key 'network.latncy': there is no such key. Did you mean 'latency'?"),
        ("netwrk = {}", "line 1, key 'netwrk': there is no such key. Did you mean 'network'?"),
        (
            "mode = 'event'\nloss.rto = '5'",
            "line 2, key 'loss.rto': '5' is not a length of time such as 2500ns, 2.5us or 200ms.",
        ),
        (
            "[loss]\nprobability = ['1%', '120%']",
            "line 2, key 'loss.probability': '120%' is not a share: expected 0 to 1, or 0% to 100%.",
        ),
        ("[loss]\nprobability = []", "line 2, key 'loss.probability': the list is empty."),
        ("seed = [1, 2]", "line 1, key 'seed': expected one value, not a list."),
        ("seed = -1", "line 1, key 'seed': '-1' is not a whole number from 0 to 9223372036854775807."),
        ("mode = 'fluid'", "line 1, key 'mode': 'fluid' is not allowed: expected dataflow or event."),
        (
            "network = '2us'",
            "line 1, key 'network': expected a table with the keys run, latency, overhead, gap, time_per_byte, "
            "overhead_per_byte, eager, receive, within, socket, cache.",
        ),
        ("network = {L = '1us', latency = '2us'}", "line 1, key 'network.latency': 'latency' is given twice."),
        (
            "network.latency = 2024-01-01",
            "line 1, key 'network.latency': expected a text, a number, true or false, or a list of these.",
        ),
        (
            "[core.rank]\n7-3 = 2",
            "line 2, key 'core.rank.7-3': '7-3' is neither a number from 0 on, such as 3, nor a range such as 3-7 or 3-.",
        ),
        ("[scenario.A]\nmode = 'event'", "line 2, key 'scenario.A.mode': there is no such key."),
        ("scenario = 3", "line 1, key 'scenario': expected a table."),
        (
            "network.L = '1us'\n[scenario.A]\n[scenario.B.noise]\nperiod = '1ms'\nduration = '2ms'",
            "line 3, key 'scenario.B.noise': an interruption must be shorter than its period.",
        ),
        (
            "[network]\nrun = 'a'\nlatency = '2us'",
            "line 2, key 'network.run': the run gives all values between nodes. Remove 'run', or 'latency'.",
        ),
        ("network.L = '1us'\n[tree]\nname = 'mont'", "line 3, key 'tree.name': 'mont' is neither a file nor a name."),
        ("a = ", "is not a valid TOML file: "),
    ],
)
def test_a_mistake_names_the_line_the_key_and_what_is_allowed(text: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        read(text, tmp_path)
    assert sentence in error.value.shown()
    assert "cluster.toml'" in error.value.shown()


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("loss", "--set 'loss' has no value. Write NAME=VALUE, such as loss.probability=0.1%:1%."),
        ("loss=5", "--set loss: '5' is not of the form name=value. The names are: probability, rto, mss, backoff"),
        ("loss.rto.x=1", "--set loss.rto.x: there is no such key. Did you mean 'loss.rto'?"),
        ("scenario.A=1", "--set scenario: there is no such key."),
        ("seed=1:2", "--set seed: '1:2' is not a whole number."),
        ("core=2@rank=1,3@rank=1", "--set core: 'rank=1' is given twice. A sweep has colons between its values"),
    ],
)
def test_a_mistake_in_set_names_the_option(setting: str, sentence: str) -> None:
    with pytest.raises(UsageError) as error:
        whatif.read_scenario(None, [setting])
    assert error.value.shown().startswith(sentence)


def test_a_prediction_is_repeated_from_its_json(tmp_path: Path) -> None:
    trace = str(ti(tmp_path, stencil(2, 5, 100_000, 1000)))
    text = """
        mode = "event"
        seed = 7
        repeats = 5
        ranks_per_node = 2
        network = {latency = "3us", time_per_byte = "10Gbit/s", within = {latency = "1us"}}
        tree = {nodes = 1, uplink = "1GB/s", hop = "100ns"}
        [scenario.Lossy]
        loss = {probability = "5%", sack = true}
        [scenario."Noise & cores"]
        noise = {period = "1ms", duration = "0.1ms"}
        core = {all = 1.5, rank.1-2 = 0.7}
    """
    (tmp_path / "cluster.toml").write_text(text, encoding="utf-8")
    answers = rows(trace, "--scenario", str(tmp_path / "cluster.toml"))
    assert [answer["title"] for answer in answers] == ["Lossy", "Noise & cores"]
    for answer in answers:
        (tmp_path / "again.json").write_text(json.dumps(answer["scenario"]), encoding="utf-8")
        (again,) = rows(trace, "--scenario", str(tmp_path / "again.json"))
        assert again["times"] == answer["times"]
        assert again["scenario"] == answer["scenario"]


TIMES = st.floats(0, 10).map(lambda seconds: f"{seconds!r}s")
PER_BYTE = st.floats(0, 1).map(lambda seconds: f"{seconds!r}s/B")
LATENCY = {"latency": TIMES}
PROTOCOL = {"overhead": TIMES, "gap": TIMES, "time_per_byte": PER_BYTE, "overhead_per_byte": PER_BYTE}
SPANS = st.dictionaries(
    st.tuples(st.integers(0, 9), st.integers(0, 9)).map(lambda x: f"{x[0]}-{sum(x)}"), st.floats(0.1, 9), max_size=2
)


def tables(**keys: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=keys)


SCENARIOS = st.fixed_dictionaries(
    {
        "network": st.fixed_dictionaries(
            LATENCY,
            optional=PROTOCOL
            | {"eager": st.integers(0, 1 << 40), "receive": st.sampled_from(["whole", "stream"])}
            | {place: st.fixed_dictionaries(LATENCY, optional=PROTOCOL) for place in ("within", "socket", "cache")},
        )
    },
    optional={
        "tree": st.fixed_dictionaries(
            {"nodes": st.integers(1, 99)},
            optional={
                "switches": st.integers(1, 9),
                "uplink": PER_BYTE,
                "hop": TIMES,
                "uplink2": PER_BYTE,
                "hop2": TIMES,
            },
        ),
        "loss": tables(
            probability=st.floats(0, 0.49),
            rto=TIMES,
            mss=st.integers(0, 1 << 20),
            backoff=st.booleans(),
            probe=st.booleans(),
        ),
        "noise": st.fixed_dictionaries(
            {"probability": st.floats(0.01, 1), "duration": TIMES}, optional={"together": st.booleans()}
        ),
        "core": tables(all=st.floats(0.1, 9), rank=SPANS, node=SPANS, region=SPANS),
        "affected": st.floats(0, 1),
        "ranks_per_node": st.integers(1, 99),
        "places": tables(cache=st.integers(1, 9), socket=st.integers(1, 9)),
        "mode": st.sampled_from(["dataflow", "event"]),
        "seed": st.integers(0, (1 << 63) - 1),
        "flops": st.floats(1, 1e15),
        "region": st.sampled_from(["2", "3-5", "10-"]),
        "iterations": st.sampled_from(scenario.COLLECTIVES),
    },
)


@settings(max_examples=30)
@given(SCENARIOS)
def test_a_scenario_that_is_written_in_full_is_read_as_the_same(content: dict[str, Any]) -> None:
    def read(content: dict[str, Any]) -> tuple[whatif.Point, dict[str, Any]]:
        asked = whatif.read_scenario(SettingsFile(Path("a.json"), content, ""), [])
        ((point,),) = whatif.list_points(asked, Path("no-runs")).values()
        return point, dict(asked.whole)

    point, whole = read(content)
    again = json.loads(json.dumps(describe_point(point, whole)))
    assert read(again) == (point, whole)


@settings(max_examples=40)
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(
    st.sampled_from([*scenario.SCHEMA, *NETWORK, *LOSS, "rank", "3-5"]), x
)))  # fmt: skip
def test_any_content_is_read_or_refused_in_a_sentence(content: Any) -> None:
    try:
        asked = whatif.read_scenario(SettingsFile(Path("a.json"), content, ""), ["network.latency=1us"])
        whatif.list_points(asked, Path("no-runs"))
    except UsageError as error:
        assert error.shown()


def test_names_for_completion_are_keys_of_the_schema() -> None:
    names = list(scenario.list_setting_names())
    assert {"mode=", "network=", "network.latency=", "core.rank."} <= set(names)
    for name in names:
        if name.endswith("="):
            with pytest.raises(UsageError, match="has no value"):
                whatif.read_scenario(None, [name])
