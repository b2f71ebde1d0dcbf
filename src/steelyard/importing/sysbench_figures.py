"""The tests of sysbench by what they print, and the lines of their figures."""

KINDS = {
    "memory": "memory .*speed test|B transferred", "cpu": "[Pp]rime number|CPU speed", "threads": "thread subsystem",
    "fileio": "total file size|File operations", "oltp": "(SQL|OLTP test) statistics", "mutex": "mutex performance",
}  # fmt: skip
FIGURES = (  # versions before 1.0 write "MB" and "Mb" for 2^20 bytes
    ("bandwidth", "MiB/s", r"transferred \(\s*(\S+) Mi?B/sec\)|Total transferred \S+\s+\(\s*(\S+)Mb/sec\)"),
    *(("bandwidth", f"{p}iB/s", rf"Total transferred \S+\s+\(\s*(\S+){p}b/sec\)") for p in "KG"),
    ("transactions", "/s", r"transactions:\s+\d+\s+\((\S+) per sec"), ("queries", "/s", r"queries:\s+\d+\s+\((\S+) per sec"),
    ("requests", "/s", r"read/write requests:\s+\d+\s+\((\S+) per sec|(\S+) Requests/sec executed"),
    ("rate", "/s", r"(?:Total operations|Operations performed):\s+\d+\s+\(\s*(\S+) (?:per second|ops/sec)\)"),
    ("rate", "/s", r"events per second:\s*(\S+)"), ("event_rate", "/s", r"events/s \(eps\):\s*(\S+)"),
    ("read_bandwidth", "MiB/s", r"read, MiB/s:\s*(\S+)|read:\s+IOPS=\S+ (\S+) MiB/s"),
    ("write_bandwidth", "MiB/s", r"written, MiB/s:\s*(\S+)|write:\s+IOPS=\S+ (\S+) MiB/s"),
    ("reads", "/s", r"reads/s:\s*(\S+)|read:\s+IOPS=([\d.]+)\s"), ("writes", "/s", r"writes/s:\s*(\S+)|write:\s+IOPS=([\d.]+)\s"),
    ("fsyncs", "/s", r"fsyncs/s:\s*(\S+)|fsync:\s+IOPS=([\d.]+)(?:\s|$)"), ("moved", "MiB", r"(\S+) Mi?B transferred"),
    ("time", "s", r"(?:total time|time elapsed):\s+(\S+)s(?:\s|$)"), ("events", "", r"total number of events:\s+(\S+)"),
)  # fmt: skip
