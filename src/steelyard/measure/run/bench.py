"""Measures one kernel on one pinned core, with planted disturbances."""

from pathlib import Path

from steelyard.measure.launch import local
from steelyard.measure.launch.program import Program
from steelyard.measure.machine.load import wait_until_quiet
from steelyard.measure.records.best_pace import Best
from steelyard.measure.run.asking import line, record_of
from steelyard.model import Case, Launch, Machine, Record, Sampling, Scalar

# 40 samples of 5 ms: longer than the scheduler's slices (3 ms), short enough for a hundred repetitions.
SAMPLES, SAMPLE_SECONDS = 40, 5e-3
IN_CACHE, IN_MEMORY = 1024, 1 << 23  # elements of 8 bytes in each of three vectors
LEARNED = 5  # cases in cache and in memory that set the best pace of the machine


class Bench:
    """A kernel in the first-level cache on one pinned core, which only planted disturbances should affect."""

    def __init__(self, machine: Machine, program: Path) -> None:
        self._machine = machine
        self.cpu = machine.cpus[-1]  # not the first processor, on which systems run their own work
        self.other = next((cpu for cpu in machine.cpus if cpu != self.cpu), None)
        self.program = program
        self._program = Program([str(program)], local.environment(machine))
        self._best = Best({})

    def learn(self) -> None:
        """Measures the pace of the quiet machine, which shows a lasting disturbance later."""
        for _ in range(LEARNED):
            wait_until_quiet(2.0)
            self.measure()
            self.measure(elements=IN_MEMORY)

    def measure(
        self,
        plant: str = "none",
        samples: int = SAMPLES,
        sample_seconds: float = SAMPLE_SECONDS,
        elements: int = IN_CACHE,
        hidden: bool = False,
    ) -> Record:
        """Measures one case with a planted disturbance. `hidden`: without the system's accounting of other load."""
        sampling = Sampling(1e-9, 60.0, samples, samples)
        parameters: dict[str, Scalar] = {
            "threads": 1,
            "pinning": str(self.cpu),
            "elements": elements,
            "sample_seconds": sample_seconds,
        }
        case = Case("memory.stream", "triad", parameters | {"plant": plant}, sampling)
        launch = Launch(1, case.benchmark, "any", 1, (case,))
        # The number of samples is fixed; disturbed samples are detected afterwards.
        answer = self._program.ask(line(self._machine, launch, 0, case), 120)
        if hidden and "surroundings" in answer:
            answer["surroundings"]["machine_other"] = None
        record = record_of(launch, 0, case, 1, answer, self._best)
        self._best.learn(record)  # as in a run, since the machine may become faster later
        return record

    def close(self) -> None:
        """Ends the program."""
        self._program.close()
