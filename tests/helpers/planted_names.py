"""Archives whose names follow other habits than planted_archives.py: languages, upper case, labels, units, counters in front."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from planted_archives import Archive, Planted, make_file
from steelyard.importing.collecting import ReadFile
from steelyard.model import Scalar

SYSTEMS = (
    "nordlicht",
    "Falke",
    "BULL-A",
    "hpc1",
    "rechner-west",
    "rechner-ost",
    "MontBlanc",
    "phase1",
    "kite",
    "LISE",
    "emmy2",
)
LABELS: Sequence[Mapping[str, Sequence[str]]] = (
    {
        "nodes": ("nodes", "Node", "NODES", "nnodes"), "ranks": ("ranks", "procs", "ntasks", "PEs"),
        "threads": ("threads", "OMP", "thr", "nthreads"), "counter": ("run", "trial", "ITERATION", "sample", "attempt"),
        "word": ("near", "far", "huge", "ON", "gpu-direct", "Release"),
    },
    {
        "nodes": ("knoten", "KNOTEN"), "ranks": ("Prozesse",), "threads": ("Faeden", "threads"),
        "counter": ("lauf", "Messung", "VERSUCH", "Wiederholung"), "word": ("frei", "nah", "fern", "gross", "schnell"),
    },
    {
        "nodes": ("noeuds", "Noeud"), "ranks": ("processus", "proc"), "threads": ("fils",), "counter": ("essai", "mesure"),
        "word": ("libre", "proche", "loin", "petit"),
    },
)  # fmt: skip
COUNTS = ((1, 2, 4, 8), (1, 2, 3, 4), (3, 6, 12), (10, 20, 40), (7, 9, 11), (24, 28, 32), (128, 256, 512))
SETTINGS = (
    ("16GiB", "32GiB"), ("2.4GHz", "2.8GHz", "3.1GHz"), ("64k", "1M", "16M"), ("1e6", "1e7", "1e8"), ("10us", "100us"),
    ("l1", "l2", "l3"),
    ("avx2", "avx512"), ("25pct", "50pct"), ("1us", "2us", "3us"), ("NB128", "NB192"), ("598b88d", "87751d4"),
    ("5.14.0-70", "5.14.0-362"),
    ("535.104", "535.129", "550.54"), ("P1Q4", "P2Q2"), ("UCX_TLS=rc", "UCX_TLS=ud"),
)  # fmt: skip
COMPILERS = ("gcc12", "GCC-12.2.0", "oneapi_2023.1", "LLVM17", "nvhpc-22.7")
LIBRARIES = ("ompi4", "OpenMPI-4.1.5", "mpich4", "IntelMPI2021", "mvapich2")
DATES: Sequence[Callable[[datetime], str]] = tuple(
    lambda at, form=form: at.strftime(form)  # type: ignore[misc]
    for form in (
        "%Y_%m_%d", "%Y.%m.%d", "%d.%m.%Y", "%b-%d-%Y", "%d%b%y", "%Y-%m-%dT%H-%M-%S", "%Y%m%d_%H%M%S", "%Y/%m/%d", "%d-%m-%Y",
        "%d_%B_%Y", "%Y%m%dT%H%M%SZ", "%a_%b_%d_%Y", "%Y.%m.%d@%H.%M", "KW%V-%Y", "%Y/%b/%d", "%y%m%d-%H%M",
    )
)  # fmt: skip
COUNTERS = ("{word}{n}", "{word}_{n}", "{n}{word}", "{n:03}", "({n})", "{word}={n}", "{n}of9")
NUMBERS = ("{n}{word}", "{word}{n}", "{word}={n}", "{n}-{word}", "{word}_{n}")


def make_plain(name: str, number: int) -> ReadFile:
    """Returns a file that states none of the parameters in names."""
    file = make_file(name, number)
    values = tuple(replace(value, parameters={"elements": 1000}) for value in file.reading.values)
    return replace(file, reading=replace(file.reading, values=values))


def plant_names(chance: random.Random) -> Archive:
    """Returns an archive with one to three parts that differ; `meanings` has those of systems and counts of them."""
    labels = chance.choice(LABELS)
    axes: dict[str, Sequence[Scalar]] = {name: chance.choice(COUNTS) for name in ("nodes", "ranks", "threads")}
    axes |= {"compiler": chance.sample(COMPILERS, 2), "MPI": chance.sample(LIBRARIES, 2)}
    axes |= {"word": chance.sample(labels["word"], 2), "setting": chance.choice(SETTINGS)}
    chosen = {name: axes[name] for name in chance.sample([*axes], chance.randint(1, 3))}
    systems = chance.sample(SYSTEMS, chance.choice((0, 0, 2, 3)))
    repetitions, how = chance.choice((1, 3, 4)), chance.choice(("counter", "counter in front", "date", "job"))
    forms = {name: chance.choice(NUMBERS).replace("{n}", chance.choice(("{n}", "{n:03}"))) for name in axes}
    words = {name: chance.choice(labels[name]) for name in ("nodes", "ranks", "threads", "counter")}
    counter, written = chance.choice(COUNTERS), chance.choice(DATES)
    separator, case = (
        chance.choice(("_", "-", ".", "__", "+", ",", " ", "@", "~")),
        chance.choice((str, str, str.upper, str.lower)),
    )
    begin, job = datetime(2014, 3, 1) + timedelta(hours=chance.randint(0, 80_000)), chance.randint(100_000, 9_000_000)
    missing = chance.choice([*chosen, *[""] * 6])  # the names lack the first value of this part
    order = [*chosen]
    chance.shuffle(order)
    deep = chance.randint(0, len(order))
    folder_of_dates, place = chance.random() < 0.4, chance.randint(0, deep)
    root, ending = (
        chance.choice(("", "messungen/", "my results/", "a/b/c/")),
        chance.choice((".out", ".LOG", ".res", ".erg", "")),
    )

    def write(name: str, value: Scalar) -> str:
        if name == missing and value == chosen[name][0]:
            return ""
        return forms[name].format(n=value, word=words[name]) if isinstance(value, int) else str(value)

    files: list[Planted] = []
    experiments: list[dict[str, Scalar]] = [{}]
    for axis, values in chosen.items():
        experiments = [{**known, axis: value} for known in experiments for value in values]
    for system in systems or [""]:
        for experiment in experiments:
            for n in range(repetitions):
                folders = [write(name, experiment[name]) for name in order[:deep]]
                folders.insert(place, system)
                parts = ["bench", *(write(name, experiment[name]) for name in order[deep:])]
                if how == "date":
                    (folders if folder_of_dates else parts).append(
                        written(begin + timedelta(days=9 * n, hours=n)).replace("/", "/" if folder_of_dates else "-")
                    )
                elif repetitions > 1 and how == "job":
                    parts.append(str(job + 7 * len(files)))
                elif repetitions > 1:
                    parts.insert(
                        1 - len(how) // 9 if "front" in how else len(parts),
                        counter.format(n=n + 1, word=words["counter"]),
                    )
                name = case(separator.join(filter(None, parts)))
                path = "".join(f"{folder}/" for folder in folders if folder)
                about = tuple(sorted({**experiment, "system": system}.items()))
                files.append(Planted(make_plain(f"{root}{path}{name}{ending}", len(files)), about))
    known = {name for name in ("nodes", "ranks", "threads") if name in chosen}
    return Archive(files, frozenset({*known, *(["system"] if systems else [])}))
