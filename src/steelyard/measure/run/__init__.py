"""Carries out a plan: starts the launches in order, writes a record for each case, and repeats disturbed cases."""

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from steelyard import doors
from steelyard.errors import ProgramFailed
from steelyard.measure.build import program_name
from steelyard.measure.launch.program import Conversation, Program
from steelyard.measure.launch.start import start
from steelyard.measure.machine.load import wait_until_quiet
from steelyard.measure.plan import second
from steelyard.measure.plan.cost import start_seconds
from steelyard.measure.plan.forecast import Schedule
from steelyard.measure.plan.length import measuring
from steelyard.measure.plan.second import Patience
from steelyard.measure.records import RunFolder
from steelyard.measure.records.best_pace import Best
from steelyard.measure.records.start_times import StartTimes
from steelyard.measure.run.asking import LOOKING, built_with, describe_end, failed_record, line, record_of, time_limit
from steelyard.measure.screen import Progress
from steelyard.measure.telemetry.clock_jumps import ClockWatch
from steelyard.model import Case, Launch, Machine, Plan, Record, Site
from steelyard.model.observed import Observed
from steelyard.model.words import plural
from steelyard.statistics.results.identity import identity
from steelyard.statistics.validity.pace import Bounds, seconds_waited
from steelyard.statistics.validity.verdict import name_disturbance

ATTEMPTS = 3  # attempts for a case that a visible load disturbs, since the load may stay
REPEATING_SHARE = 0.1  # time for repetitions, as a share of the plan's time
REPEATING_LEAST = 0.05  # the same, if the preset's promised length is used up
SILENCE = 3.0  # seconds after the limit in which waiting ranks report that they wait, and a hanging rank does not
GRACE = 2.0  # seconds after the stated time from which a run repeats no case
FILLED = 60.0  # seconds of a stated time that is used to the end, by one more launch of settled cases
RESTLESS_SHARE = 0.05  # share of waiting in a run's time above which the machine counts as restless


@dataclass
class Surroundings:
    """The clock and the start of programs; tests replace them."""

    now: Callable[[], float] = time.monotonic
    start: Callable[[list[str], Mapping[str, str], int | None], Conversation] = Program
    wait: Callable[[float], object] = wait_until_quiet


@dataclass(kw_only=True)
class Measurer:
    """Carries out a plan. `budget` is the maximum time in seconds; `notes` counts the cases that did not fit.

    `length` is the stated time in seconds, in which the run should end (None: by the preset, and by the load so far). If
    `filled`, a stated time of more than a minute is used to its end, and otherwise only for cases that are not settled.
    """

    machine: Machine
    plan: Plan
    programs: Mapping[tuple[str, str], Path]  # (its name, toolchain, with its MPI where it has one) → executable
    folder: RunFolder
    done: set[tuple[int, int]] = field(default_factory=set)  # (launch, case) of a resumed run that are finished
    budget: float | None = None
    length: float | None = None
    filled: bool = True
    show: Callable[[Progress], None] = lambda progress: None
    around: Surroundings = field(default_factory=Surroundings)
    site: Site = field(default_factory=Site)
    best: Best = field(default_factory=lambda: Best({}))  # the best pace of the machine
    patience: Patience = field(default_factory=lambda: Patience(0.0))  # none
    earlier: Sequence[Record] = ()  # records of a resumed run
    mains: Collection[tuple[int, int]] | None = None  # (launch, case) of the main figures; None: all count as such
    seconds: float = 0.0  # duration of the run
    waiting: float = 0.0  # part of it for disturbed cases: waiting and measuring them again

    def run(self) -> list[str]:
        """Carries out all launches, and adds launches of cases that are not settled while time is left.

        Returns notes on cases that were left out; the records are in the folder.
        """
        self.begin()
        for launch in self.plan.launches:
            self.carry_out(launch)
        self._catch_up()
        self._settle()
        return self.notes()

    def _catch_up(self) -> None:
        """Measures cases that were left out, while time is left: first those without any record, and at least one."""
        for launch, cases in sorted(self._omitted, key=lambda omitted: omitted[0].repetition):
            left = self._count_time_left() - self.forecast.start(launch.cases)
            fitting = len(second.select_affordable((c for _, c in cases), self.forecast, left)) or int(not self._places)
            if fitting:
                late = self._start_launch(launch, cases[:fitting])
                del cases[: fitting - late]

    def _settle(self) -> None:
        """Adds launches of the cases that are not settled, while the promised length of the preset leaves time."""
        filled = self.filled and self.budget is None and self.length is not None and self.length > FILLED
        further = second.launches(self.plan, self.forecast, self._list_case_records, self._count_time_left, filled)
        for launch in further:
            self.plan = replace(self.plan, launches=(*self.plan.launches, launch))
            self.folder.replan(self.plan)
            self._further.add(launch.number)
            self._start_launch(launch, list(enumerate(launch.cases)))

    def _count_time_left(self) -> float:
        """Returns the seconds until the run should end."""
        return self._choose_length(self.restless) - (self.around.now() - self._begin)

    def _choose_length(self, restless: bool) -> float:
        """Returns the seconds that the run should take. If no length is stated, a restless machine gets more.

        The time of cases whose programs hung or died is added to a stated length, so that it is not taken from other cases.
        """
        if self.length is not None:
            return min(self.length + self._lost, math.inf if self.budget is None else max(self.budget, self.length))
        return self.budget if self.budget is not None else measuring(self.plan, 0.0 if restless else 1.0)

    @property
    def restless(self) -> bool:
        """Returns whether other load came and went so far, so that cases waited for more than a twentieth of the time."""
        return self.patience.spent > RESTLESS_SHARE * (self.around.now() - self._begin)

    def _list_case_records(self, launch: int, case: int) -> Sequence[Record]:
        name = self._places.get((launch, case))
        return () if name is None else self._records[name]

    def begin(self) -> None:
        """Starts the clock. Needed by callers that carry out single launches, as for two runs in turn."""
        self._begin = self.around.now()
        self.starts = StartTimes(self.machine)
        self._clock, self._jumps = ClockWatch(), list[str]()
        self._further = {launch.number for launch in second.added(self.plan)}
        planned = [x for x in self.plan.launches if x.number not in self._further]
        self._repetitions = max((x.repetition for x in planned), default=1)
        self._totals = Counter(self._name_phase(x) for x in planned for _ in x.cases)
        self._counts = Counter(
            self._name_phase(x) for x in self.plan.launches for i, _ in enumerate(x.cases) if (x.number, i) in self.done
        )
        self._schedule = Schedule(self.plan.launches, self.done, self.mains, self.machine)
        self.forecast = self._schedule.forecast
        self._last: Record | None = None
        self._lost = 0.0  # seconds of cases whose programs hung or died
        self._started: float | None = None  # moment of the start of a program that has not measured a case yet
        self._omitted: list[tuple[Launch, list[tuple[int, Case]]]] = []  # cases for which there was no time
        self._records: dict[tuple[object, ...], list[Record]] = {}
        self._places: dict[tuple[int, int], tuple[object, ...]] = {}
        for record in self.earlier:
            self._remember(record)

    def carry_out(self, launch: Launch) -> None:
        """Carries out one launch of the plan: its cases that are not finished, while the time lasts."""
        open_cases = [(i, c) for i, c in enumerate(launch.cases) if (launch.number, i) not in self.done]
        unlimited = self.length is None or (self.budget is not None and self.mains is None)
        chosen = self._schedule.choose(launch, open_cases, math.inf if unlimited else self._count_time_left())
        if self.budget is not None:
            chosen.sort(key=lambda one: not self._schedule.is_main(launch, one[0]))
        late = self._start_launch(launch, chosen)
        measured = {i for i, _ in chosen[: len(chosen) - late]}
        if omitted := [(i, c) for i, c in open_cases if i not in measured]:
            self._omitted.append((launch, omitted))

    def notes(self) -> list[str]:
        """Stops the clock and returns notes on cases that were left out, and on changes of the time of day."""
        self.seconds = self.around.now() - self._begin
        late = "because measuring took longer than estimated"
        if self.budget is not None:
            late = f"because the time limit of {self.budget:.0f} s was reached"
        omitted = {(x.toolchain, identity(case)) for x, cases in self._omitted for _, case in cases}
        measured = {(x.toolchain, identity(x.cases[i])) for x in self.plan.launches for i in self._list_measured(x)}
        parts = (("not measured", omitted - measured), ("measured in fewer launches", omitted & measured))
        notes = [
            f"{plural(len(cases), 'case')} {'was' if len(cases) == 1 else 'were'} {what}, {late}"
            for what, cases in parts
            if cases
        ]
        return [*notes, *self._jumps]

    def _list_measured(self, launch: Launch) -> list[int]:
        """Returns the numbers of the cases of a launch that have a record, of this run or of the one that it resumes."""
        return [i for i, _ in enumerate(launch.cases) if (launch.number, i) in self._places]

    def _is_time_over(self, launch: Launch) -> bool:
        """Returns whether the budget is spent; without one, whether the run is late and the cases of this launch have records."""
        if self.budget is not None or self.length is None:
            return self._is_budget_spent()
        return launch.repetition > 1 and self._count_time_left() < -GRACE

    def _is_time_for_mains(self, launch: Launch, case: int) -> bool:
        """Returns whether a budget has only the time left that the main figures of later launches need."""
        if self.budget is None or self.mains is None or self._schedule.is_main(launch, case):
            return False
        return self._count_time_left() < self._schedule.needed_later()

    def _is_budget_spent(self) -> bool:
        return self.budget is not None and self.around.now() - self._begin > self.budget

    def _start_launch(self, launch: Launch, cases: list[tuple[int, Case]]) -> int:
        """Starts the program, and again after a case that killed it.

        Returns the number of cases that were left out, since the time was over.
        """
        program: Conversation | None = None
        try:
            for position, (index, case) in enumerate(cases):
                if self._is_time_over(launch) or self._is_time_for_mains(launch, index):
                    return len(cases) - position
                program = program or self._start(launch)
                self._show(launch, case)
                began, self._starting = self.around.now(), 0.0
                lasts = self._case(program, launch, index, case)
                seconds = self.around.now() - began - self._starting
                if not lasts:
                    program.close()
                    program = None
                    self._lost += seconds
                self._schedule.finish(case, seconds if lasts else None)
                self._counts[self._name_phase(launch)] += 1
        except BaseException:
            # Ctrl-C, a full disk: the present case is lost; the earlier ones are on the disk.
            if isinstance(program, Program):
                program.kill()
                program = None
            raise
        finally:
            if program:
                program.close()
        return 0

    def _start(self, launch: Launch) -> Conversation:
        parameters = launch.cases[0].parameters
        name = program_name(launch.benchmark, launch.model)
        program = self.programs[name, built_with(launch.toolchain, parameters)]
        if runner := doors.program_runner(program):
            looking = self.programs.get((LOOKING, launch.toolchain))
            self._started = None  # the runner measures what its program does, not how it starts
            conversation: Conversation = runner.start(program, self.site, self.machine, launch, looking)
            return conversation
        ranks = parameters.get("ranks")
        self._started = self.around.now()
        return self.around.start(*start(self.site, self.machine, launch, program), int(ranks) if ranks else None)

    def _case(self, program: Conversation, launch: Launch, index: int, case: Case) -> bool:
        """Measures a case, and repeats it while it is disturbed and time is left. Returns False if the program has died."""
        limit = time_limit(case, self.machine) + (SILENCE if "mpi" in case.parameters else 0)
        for attempt in range(1, ATTEMPTS + 1):
            began = self.around.now()
            patience = self._limit_patience(began - self._begin)
            asked = line(self.machine, launch, index, case, self._find_bounds(launch, case), patience)
            starting = 0.0 if self._started is None else 4 * start_seconds(launch.cases, self.machine)
            try:
                answer = program.ask(asked, limit + patience + starting)
            except ProgramFailed as failure:
                # The signal may also be for this process and arrive in a moment; then the case must not become a record.
                self._keep(failed_record(launch, index, case, attempt, str(failure), brief=describe_end(failure)))
                return False
            record = record_of(launch, index, case, attempt, answer, self.best)
            self._keep(record)
            if self._started is not None:
                self._starting = self.starts.learn(launch.cases, record, self.around.now() - self._started)
                self.forecast.learn_start(launch.cases, self._starting)
                self._started = None
            self.patience.waited(seconds_waited(record), patience)
            took = self.around.now() - began
            affordable = self.waiting + took <= self._plan_repetition_time() and not self._is_budget_spent()
            hopeless = record.surroundings.oversubscribed  # a repetition has the same problem
            # The end of other disturbances cannot be observed; time for them is better spent at the end.
            passing = name_disturbance(record.verdict) == "competing load"
            if not passing or attempt == ATTEMPTS or hopeless or not affordable:
                return True
            self._show(launch, case, waiting=True)
            self.around.wait(min(2.0, self._plan_repetition_time() - self.waiting))
            self.waiting += self.around.now() - began
        return True

    def _plan_repetition_time(self) -> float:
        """Returns the total seconds for repetitions: a share of the plan's time, or less if the promised length leaves less."""
        share = REPEATING_SHARE * self.plan.seconds
        if self.budget is not None:
            return share
        spent = self.around.now() - self._begin - self.waiting
        spare = self._choose_length(restless=False) - spent - self._schedule.left()
        return min(share, max(REPEATING_LEAST * self.plan.seconds, spare))

    def _limit_patience(self, elapsed: float) -> float:
        """Returns how long the next case may wait, so that the run stays within the limit for a disturbed machine."""
        spare = self._choose_length(restless=True) - elapsed - self._schedule.left()
        return max(0.0, min(self.patience.ask(elapsed), spare))

    def _find_bounds(self, launch: Launch, case: Case) -> Bounds:
        return self.best.bounds(case.benchmark, case.kernel, {**case.parameters, "toolchain": launch.toolchain})

    def _keep(self, record: Record) -> None:
        self.folder.append(record)
        if jump := self._clock.jump():
            self._jumps.append(
                f"{jump} The moments of later cases follow the new time; durations are measured by another clock"
            )
        self._remember(record)
        self._last = record

    def _remember(self, record: Record) -> None:
        """Keeps the parts of a record that decide whether its case is settled; the other readings are on the disk."""
        self.best.learn(record)
        kept = Observed(oversubscribed=record.surroundings.oversubscribed)
        self._records.setdefault(identity(record), []).append(replace(record, surroundings=kept))
        self._places[record.launch, record.case] = identity(record)

    def _show(self, launch: Launch, case: Case, waiting: bool = False) -> None:
        elapsed = self.around.now() - self._begin
        left = self._schedule.left()
        if self.length is not None:
            left = max(0.0, self._count_time_left(), self._schedule.left(essential=True))
        phase = self._name_phase(launch)
        self.show(
            Progress(
                launch=launch,
                case=case,
                done=self._counts[phase],
                total=self._totals[phase],
                seconds_left=left if self.budget is None else min(left, max(0.0, self.budget - elapsed)),
                elapsed=elapsed,
                phase=phase,
                last=self._last,
                waiting=waiting,
            )
        )

    def _name_phase(self, launch: Launch) -> str:
        """Returns the part of the run to which the launch belongs, within which each case occurs once."""
        if launch.number in self._further:
            return "further launches"
        return f"launch {launch.repetition} of {self._repetitions}" if self._repetitions > 1 else ""
