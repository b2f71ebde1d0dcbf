"""Expected seconds of the rest of a run, learned from its own starts and cases, and the cases for which time is left. Pure."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from steelyard.measure.plan import by_value, cost
from steelyard.model import Case, Launch, Machine

Needs = dict[str, float]  # seconds that were expected, by the kind of their pace
Numbered = tuple[int, Case]  # a case with its number in its launch
Place = tuple[int, int]  # numbers of a launch and of a case in it

OWN = 2.0  # expected seconds of starts or of a benchmark after which their own pace counts as much as the common one
ALL = 5.0  # the same for the pace of all cases, against that which was expected


class Forecast:
    """The expected seconds of starts and cases. It learns the pace of the starts of each MPI, and of each benchmark."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._expected, self._took = defaultdict[str, float](float), defaultdict[str, float](float)

    def learn_start(self, cases: Sequence[Case], seconds: float) -> None:
        """Adds a start of these cases that took this time."""
        self._learn(_start_key(cases), cost.start_seconds(cases, self._machine), seconds)

    def learn_case(self, case: Case, seconds: float) -> None:
        """Adds a case that took this time."""
        expected = cost.case_seconds(case, self._machine)
        self._learn(case.benchmark, expected, seconds)
        self._learn("", expected, seconds)

    def _learn(self, key: str, expected: float, seconds: float) -> None:
        self._expected[key] += expected
        self._took[key] += seconds

    def needs(self, cases: Sequence[Case], started: bool) -> Needs:
        """Returns the seconds that were expected for these cases; with a start if `started`."""
        needs = defaultdict[str, float](float)
        if started and cases:
            needs[_start_key(cases)] = cost.start_seconds(cases, self._machine)
        for case in cases:
            needs[case.benchmark] += cost.case_seconds(case, self._machine)
        return needs

    def seconds(self, needs: Needs) -> float:
        """Returns the seconds for these needs at the pace so far."""
        return sum(seconds * self._pace(key) for key, seconds in needs.items())

    def start(self, cases: Sequence[Case]) -> float:
        """Returns the expected seconds of a start for these cases."""
        return cost.start_seconds(cases, self._machine) * self._pace(_start_key(cases))

    def case(self, case: Case) -> float:
        """Returns the expected seconds of a case in a running program."""
        return cost.case_seconds(case, self._machine) * self._pace(case.benchmark)

    def _pace(self, key: str) -> float:
        common = 1.0
        if not key.startswith(START):
            common = (self._took[""] + ALL) / (self._expected[""] + ALL)
        return (self._took[key] + OWN * common) / (self._expected[key] + OWN)


START = "start "


def _start_key(cases: Sequence[Case]) -> str:
    return START + str(cases[0].parameters.get("mpi", ""))


class Schedule:
    """The launches of a plan that are left, and which of their cases fit into the time that a run has left.

    The first launch of the main figures comes first, then their other launches, the first launch of the other cases, and the
    rest. Without `mains`, the first launch of each case counts as one of a main figure.
    """

    def __init__(
        self, launches: Iterable[Launch], done: Collection[Place], mains: Collection[Place] | None, machine: Machine
    ) -> None:
        self._machine, self._mains = machine, mains
        self.forecast = Forecast(machine)
        self._needs: dict[tuple[bool, bool], Needs] = {
            (first, main): defaultdict(float) for first in (True, False) for main in (True, False)
        }
        self._present = list[Case]()  # the cases of the present launch that are left
        self._credit = {True: 0.0, False: 0.0}  # seconds that main figures and others have not used of their share
        for launch in launches:
            self._add(launch, [(i, c) for i, c in enumerate(launch.cases) if (launch.number, i) not in done], 1)

    def _add(self, launch: Launch, cases: Sequence[Numbered], sign: int) -> None:
        for main, part in zip((True, False), self._split(launch, cases), strict=True):
            started = main or len(part) == len(cases)
            for key, seconds in self.forecast.needs([c for _, c in part], started).items():
                self._needs[launch.repetition == 1, main][key] += sign * seconds

    def _split(self, launch: Launch, cases: Sequence[Numbered]) -> tuple[list[Numbered], list[Numbered]]:
        """Returns the cases of main figures, and the others."""
        if self._mains is None:
            return (list(cases), []) if launch.repetition == 1 else ([], list(cases))
        main = [(i, c) for i, c in cases if (launch.number, i) in self._mains]
        return main, [(i, c) for i, c in cases if (launch.number, i) not in self._mains]

    def left(self, essential: bool = False) -> float:
        """Returns the seconds for all launches that are left, or only for the first launch of the main figures."""
        parts = [self._needs[True, True]] if essential else self._needs.values()
        return sum(map(self.forecast.case, self._present)) + sum(
            max(0.0, self.forecast.seconds(needs)) for needs in parts
        )

    def is_main(self, launch: Launch, case: int) -> bool:
        """Returns whether the case with this number in the launch is one of a main figure."""
        return launch.repetition == 1 if self._mains is None else (launch.number, case) in self._mains

    def needed_later(self) -> float:
        """Returns the seconds for the first launches of main figures after the present launch."""
        return self.forecast.seconds(self._needs[True, True])

    def finish(self, case: Case, seconds: float | None) -> None:
        """Counts a case of the present launch that took this time, with its repetitions and waits; None if its program ended.

        A device or a rank that hangs says nothing on the time of other cases.
        """
        if seconds is not None:
            self.forecast.learn_case(case, seconds)
        self._present = [other for other in self._present if other is not case]

    def choose(self, launch: Launch, cases: Sequence[Numbered], seconds: float) -> list[Numbered]:
        """Returns the cases of a launch that fit if the run has these seconds left. It becomes the present launch."""
        first = launch.repetition == 1
        need = {key: max(0.0, self.forecast.seconds(needs)) for key, needs in self._needs.items()}
        main, others = self._split(launch, cases)
        left = seconds - need[True, True]
        kept = main if first else self._fit(launch, main, _share(left, need[False, True]), True, True)
        left -= need[False, True] + (0.0 if first else need[True, False])
        kept = kept + self._fit(launch, others, _share(left, need[first, False]), not kept, False)
        self._add(launch, cases, -1)
        numbers = {number for number, _ in kept}
        chosen = [(i, c) for i, c in cases if i in numbers]
        self._present = [c for _, c in chosen]
        return chosen

    def _fit(
        self, launch: Launch, cases: Sequence[Numbered], share: float, started: bool, main: bool
    ) -> list[Numbered]:
        """Returns as many of the cases as their share of the seconds, and what earlier launches left, are enough for."""
        if not cases:
            return []
        if share >= 1:
            self._credit[main] = 0.0
            return list(cases)
        begin = self.forecast.start(launch.cases) if started else 0.0
        self._credit[main] += share * (begin + sum(self.forecast.case(c) for _, c in cases))
        number_of = {id(c): i for i, c in cases}
        kept = list[Numbered]()
        for case in by_value.coarse_first([c for _, c in cases], self._machine):
            seconds = self.forecast.case(case) + (0.0 if kept else begin)
            if seconds <= self._credit[main]:
                self._credit[main] -= seconds
                kept.append((number_of[id(case)], case))
        return kept


def _share(seconds: float, need: float) -> float:
    return max(0.0, seconds / need) if need > 0 else math.inf
