"""iperf3 3.0 to 3.18 with --json or --json-stream.

https://software.es.net/iperf/
"""

from collections.abc import Iterator
from math import isclose
from typing import Any

from steelyard.importing.text import Text
from steelyard.importing.values import make
from steelyard.model.foreign import ForeignValue

TOOL = "iperf3"
MARKS = ('"sum_sent"', '"sum_received"', '"bits_per_second"')
HOST = r'"system_info"\s*:\s*"\S+ (\S+)'
STARTED = r'"time"\s*:\s*"([^"]+)"'
SUMS = ("sum", "sum_sent", "sum_received", "sum_sent_bidir_reverse", "sum_received_bidir_reverse")
EXTRAS = (("jitter_ms", "jitter", "ms"), ("lost_percent", "loss", "%"), ("retransmits", "retransmissions", ""))


def read(text: Text) -> Iterator[ForeignValue]:
    """Yields bandwidth, retransmissions, jitter and loss of all streams together, by sender and by receiver."""
    start: dict[str, Any] = {}
    for content in text.objects():
        if "error" in content:
            raise ValueError(f"iperf3 says: {content['error']}")
        start = content.get("start") or (content["data"] if content.get("event") == "start" else start)
        end = content.get("end") or (content["data"] if content.get("event") == "end" else {})
        test = start.get("test_start", {})
        protocol = test.get("protocol", "udp" if "sum" in end else "tcp").lower()
        streams = test.get("num_streams") or len(end.get("streams", [])) or None
        given = {
            "streams": streams,
            "message_bytes": test.get("blksize"),
            "reverse": True if test.get("reverse") else None,
        }
        for name in SUMS:
            with_others = name == "sum" and (end.get("sum_received") or {}).get("bits_per_second")
            if with_others or not (total := end.get(name)) or not total["bits_per_second"]:
                continue
            if not isclose(8 * total["bytes"], total["bits_per_second"] * total["seconds"], rel_tol=0.01):
                raise ValueError(f"the bandwidth of {name} is not the amount of data in the time")
            operation, direction = (*name.split("_"), None)[1], "reverse" if name.endswith("reverse") else None
            about = {**given, "operation": operation, "direction": direction}
            yield make(f"iperf3.{protocol}", protocol, "bandwidth", total["bits_per_second"], "bit/s", "mean", about)
            for key, metric, unit in EXTRAS:
                way = "mean" if unit else "one run"
                if key in total and (operation != "sent" or key == "retransmits"):
                    yield make(f"iperf3.{protocol}", protocol, metric, total[key], unit, way, about, better="lower")
