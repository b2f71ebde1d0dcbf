"""Readings as messages: what is sent is what comes, and anything else is refused by a reason that can be counted."""

import itertools
import re
import struct
import zlib
from collections.abc import Sequence
from uuid import UUID

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from steelyard.model.sensor import Sensor
from steelyard.power import message
from steelyard.power.message import Batch, Description, Gap, Refused
from steelyard.power.topics import Topics, is_filter, read_receipt, write_receipt

TOPICS = Topics()
WRITER = UUID(int=7)
MOMENT = 1_700_000_000_000_000_000

names = st.text(st.characters(categories=["L", "N", "P", "S"], exclude_characters="+#$/"), min_size=1, max_size=9)
paths = st.lists(names, min_size=1, max_size=3).map("/".join).filter(message.is_name)
moments = st.integers(0, message.LATEST - 1)


@st.composite
def gaps(draw):
    first, last = sorted((draw(moments), draw(moments)))
    return Gap(tuple(draw(st.lists(paths, max_size=3, unique=True))), first, last, "buffer full")


@st.composite
def batches(draw):
    sensors = tuple(draw(st.lists(paths, min_size=1, max_size=20, unique=True)))
    count = draw(st.integers(0, 200))
    number = draw(arrays.arrays(np.uint16, count, elements=st.integers(0, len(sensors) - 1)))
    at = draw(arrays.arrays(np.int64, count, elements=moments))
    value = draw(arrays.arrays(np.float64, count, elements=st.floats(allow_nan=False, allow_infinity=False)))
    some = tuple(draw(st.lists(gaps(), max_size=3)))
    return Batch("mont-blanc/n1", draw(st.uuids()), draw(st.integers(0, 2**64 - 1)), sensors, number, at, value, some)


def batches_of(topic: str, payload: bytes, topics: Topics = TOPICS) -> Sequence[Batch]:
    came = topics.received(topic, payload)
    assert not isinstance(came, Description)
    return came


def batch(count: int = 3, **changed) -> Batch:
    columns = {"number": np.zeros(count, np.uint16), "at": MOMENT + np.arange(count), "value": np.ones(count)}
    return Batch(
        **{"node": "s/n", "writer": WRITER, "sequence": 1, "sensors": ("rapl/package-0",), **columns, **changed}
    )


@given(batches())
def test_a_batch_comes_as_it_was_sent(sent):
    payload = message.encode(sent)
    (came,) = batches_of(TOPICS.readings(sent.node), payload)
    for column in ("number", "at", "value"):
        np.testing.assert_array_equal(getattr(came, column), getattr(sent, column))
    for field in ("node", "writer", "sequence", "sensors", "gaps"):
        assert getattr(came, field) == getattr(sent, field)
    assert message.read_identity(payload) == (sent.writer, sent.sequence)


topics = st.one_of(
    st.text(max_size=40),
    st.sampled_from(("readings", "sensors", "cpu/0", "", "+/x")).map(lambda last: f"steelyard/s/n/{last}"),
    st.sampled_from(("/s/n/power", "/s", "org/unibo/cluster/s/node/n/power", "steelyard", "steelyard/s", "//")),
)


@given(topics, st.binary(max_size=300))
@example("steelyard/s/n/sensors", b"[" * 100_000)
@example("steelyard/s/n/sensors", b'{"version":1,"sensors":[],"more":' + b"[" * 100_000)
@example("org/cluster/s/node/n/power", b"1e999;1700000000")
@example("org/cluster/s/node/n/power", b"9" * 100_000 + b";1")
@example("steelyard/s/n/power", struct.pack("<qq", 1, -1))
def test_any_bytes_on_any_topic_are_taken_or_refused(topic, payload):
    try:
        came = TOPICS.received(topic, payload)
    except Refused:
        return
    assert isinstance(came, Description) or all(isinstance(batch, Batch) for batch in came)


@given(batches(), st.data())
def test_a_batch_with_any_damage_is_refused(sent, data):
    payload = bytearray(message.encode(sent))
    if data.draw(st.booleans()):
        del payload[data.draw(st.integers(0, len(payload) - 1)) :]
    else:
        payload[data.draw(st.integers(0, len(payload) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(Refused):
        message.decode("s/n", bytes(payload))


@given(st.binary(max_size=200), st.integers(0, 2**32 - 1), st.integers(0, 50))
def test_a_right_checksum_does_not_make_a_wrong_head_pass(head, claimed, readings):
    """A hostile sender can compute checksums too: nothing but Refused may come of it, whatever counts he claims."""
    for head_bytes, count in ((len(head), readings), (claimed, readings), (len(head), claimed)):
        body = struct.pack("<B3xII4xQ16s", 1, head_bytes, count, 1, bytes(16)) + head + bytes(18 * readings)
        try:
            message.decode("s/n", body + struct.pack("<I", zlib.crc32(body)))
        except Refused as refused:
            assert refused.reason in {"size", "form", "limit", "value"}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"sensors": tuple(f"s{i}" for i in range(1001))}, "limit"),
        ({"sensors": ("power", "power")}, "limit"),
        ({"sensors": ("a//b",)}, "limit"),
        ({"sensors": ("power\x1b[2J",)}, "limit"),
        ({"sensors": ("x" * 129,)}, "limit"),
        ({"number": np.full(3, 1, np.uint16)}, "value"),
        ({"value": np.array([1.0, np.nan, 1.0])}, "value"),
        ({"at": np.array([1, -1, 1])}, "value"),
        ({"at": np.array([1])}, "form"),
        ({"gaps": (Gap((), 2, 1, "x"),)}, "value"),
        ({"gaps": (Gap((), 1, 2, "x\n"),)}, "value"),
        ({"gaps": (Gap((), 1, 1 << 64, "x"),)}, "value"),
        ({"at": np.array([1, message.LATEST, 1])}, "value"),
        ({"gaps": (Gap((), 1, 2, "x"),) * 1001}, "limit"),
    ],
)
def test_what_is_beyond_the_limits_is_neither_sent_nor_taken(changed, reason):
    with pytest.raises(Refused) as refused:
        message.encode(batch(**changed))
    assert refused.value.reason == reason


def test_filters_of_topics_are_those_of_mqtt():
    """By section 4.7.1 of MQTT 5, for all filters of up to five letters."""
    valid = re.compile(r"(?:(?:[^+#/]*|\+)/)*(?:[^+#/]*|\+|#)")
    for length in range(6):
        for letters in itertools.product("a/+#", repeat=length):
            text = "".join(letters)
            assert is_filter(text) == (bool(text) and valid.fullmatch(text) is not None), text
    assert not any(map(is_filter, ("a\0", "a\nb", "\udc80", "a" * 70_000)))


def test_a_message_that_is_too_large_is_refused_unread():
    with pytest.raises(Refused) as sent:
        message.encode(batch(40_000))
    with pytest.raises(Refused) as came:
        TOPICS.received("steelyard/s/n/readings", bytes(10_000_000))
    assert sent.value.reason == came.value.reason == "size"


def test_sensors_are_described_to_the_last_field():
    sensors = (Sensor("rapl/package-0", "energy", "RAPL (powercap)", "/sys/x", 6e-5, 1e-3, range=262144.0, error=0.05),)
    assert TOPICS.received(TOPICS.sensors("s/n"), message.describe(sensors)) == Description("s/n", sensors)


@pytest.mark.parametrize(
    ("sensor", "reason"),
    [
        (Sensor("a//b", "power", "x"), "limit"),
        (Sensor("a", "power", "x" * 501), "limit"),
        (Sensor("a", "power", "x", update=-1.0), "value"),
        (Sensor("a", "power", "x", window=1e308), "value"),
        (Sensor("a", "volume", "x"), "form"),  # type: ignore[arg-type]
    ],
)
def test_a_description_beyond_the_limits_is_refused(sensor, reason):
    with pytest.raises(Refused) as refused:
        message.read_description("s/n", message.describe([sensor]))
    assert refused.value.reason == reason


@given(st.lists(st.tuples(st.integers(-(2**53), 2**53), moments), min_size=1, max_size=50))
def test_dcdbs_pairs_are_read_from_its_topics_and_from_ours(pairs):
    payload = np.array(pairs, "<i8").tobytes()
    for topic in ("/mysystem/host0/eth0/xmitdata", "steelyard/mysystem/host0/eth0/xmitdata"):
        (came,) = batches_of(topic, payload)
        assert (came.node, came.sensors) == ("mysystem/host0", ("eth0/xmitdata",))
        assert list(zip(came.value, came.at, strict=True)) == pairs


def test_deeper_nodes_of_dcdb_are_named_by_as_many_levels_as_the_site_has():
    (came,) = batches_of("/i01/r01/c01/s09/PKG_POWER", struct.pack("<qq", 137, MOMENT), Topics(levels=4))
    assert (came.node, came.sensors, came.value[0]) == ("i01/r01/c01/s09", ("PKG_POWER",), 137.0)


@pytest.mark.parametrize(
    ("payload", "value", "at"),
    [
        (b"137.5;1700000000.123", 137.5, 1_700_000_000_123_000_000),
        (b"-3;1700000000", -3.0, 1_700_000_000_000_000_000),
        (b"1e3;1700000000.05\n", 1000.0, 1_700_000_000_050_000_000),
    ],
)
def test_examons_text_is_read_to_the_millisecond(payload, value, at):
    topic = "org/unibo/cluster/marconi/node/r001/plugin/pmu_pub/chnl/data/core/3/tsc"
    (came,) = batches_of(topic, payload)
    assert (came.node, came.sensors) == ("marconi/r001", ("plugin/pmu_pub/chnl/data/core/3/tsc",))
    assert (came.value[0], came.at[0]) == (value, at)


def test_a_foreign_message_that_comes_twice_has_one_identity_and_another_one_another():
    sent = (("power", MOMENT), ("power", MOMENT), ("power", MOMENT + 1), ("fan", MOMENT))
    came = [batches_of(f"/s/n/{sensor}", struct.pack("<qq", 137, at))[0] for sensor, at in sent]
    identities = [(b.writer, b.sequence) for b in came]
    assert identities[0] == identities[1]
    assert len({*identities}) == 3


@given(st.lists(st.tuples(st.uuids(), st.integers(0, 2**64 - 1)), max_size=20))
def test_receipts_come_as_they_were_sent(stored):
    assert read_receipt(write_receipt(stored)) == stored


@given(st.binary(max_size=100))
def test_any_bytes_as_receipts_are_read_or_ignored(payload):
    assert len(read_receipt(payload)) in (0, len(payload) // 24)
