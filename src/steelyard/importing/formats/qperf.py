"""qperf 0.4: bandwidths, latencies and rates of messages over TCP, UDP, SCTP, RDS and RDMA.

https://github.com/linux-rdma/qperf
"""

from steelyard.importing.text import Text
from steelyard.importing.values import Values, make, size, spell

TOOL = "qperf"
MARKS = ("  latency  =  ", "  bw  =  ", "  send_bw  =  ", " msg_rate  ")
TEST = r"\s*((?:tcp|udp|sctp|sdp|rds|rc|uc|ud|xrc)_[a-z_]+):\s*$"
LINE = r"\s+(?P<side>send_|recv_)?(?P<name>bw|latency|msg_rate|msg_size)\s+=\s+(?P<value>\S+) (?P<unit>\S+)"
SIDES = {"send_": "sent", "recv_": "received"}
METRICS = {"bw": "bandwidth", "latency": "latency", "msg_rate": "message_rate"}
RATES = {"/sec": "/s", "K/sec": "K/s", "M/sec": "M/s", "bytes/sec": "B/s"}
HALF = "The latency is half of a round trip."


def read(text: Text) -> Values:
    """Yields the figures of each test, with the size of messages if -vv prints it. A prefix of a rate is a power of 1000."""
    for head, part in text.ended().parts(TEST):
        lines = part.lines[1:]
        own = next((at for at, line in enumerate(lines) if not line[:1].isspace()), len(lines))  # indented lines
        figures = [(found, place) for found, place in part.match(LINE) if place - part.first <= own]
        sizes = (size(f"{found['value']} {found['unit']}") for found, _ in figures if found["name"] == "msg_size")
        about = {"message_bytes": next(sizes, None)}
        for found, place in figures:
            if found["name"] in METRICS:
                metric = METRICS[found["name"]]
                note = HALF if metric == "latency" and "rdma_read" not in head[1] else ""
                given = {**about, "operation": SIDES.get(found["side"])}
                with text.row(place):
                    unit = RATES.get(found["unit"]) or spell(found["unit"]) or found["unit"]
                    yield make(f"qperf.{head[1]}", head[1], metric, found["value"], unit, "mean", given, note=note)
