"""One kernel on one pinned core, on which disturbances are planted."""

from pathlib import Path

from steelyard.launch import local
from steelyard.launch.program import Program
from steelyard.machine.load import wait_until_quiet
from steelyard.model import Case, Launch, Machine, Record, Sampling, Scalar
from steelyard.records.best_pace import Best
from steelyard.run.asking import line, record_of

# 40 samples of 5 ms: long against the scheduler's slices (3 ms), short enough for a hundred repetitions.
SAMPLES, SAMPLE_SECONDS = 40, 5e-3
IN_CACHE, IN_MEMORY = 1024, 1 << 23  # elements of 8 bytes in each of three vectors
LEARNED = 5  # cases of each by which the machine's best is known


class Bench:
    """A kernel in the first-level cache on one pinned core: what disturbs it is what was planted."""

    def __init__(self, machine: Machine, program: Path) -> None:
        self._machine = machine
        self.cpu = machine.cpus[-1]  # the first processor is where systems put their own work
        self.other = next((cpu for cpu in machine.cpus if cpu != self.cpu), None)
        self.program = program
        self._program = Program(local.argv(program), local.environment(machine))
        self._best = Best({})

    def learn(self) -> None:
        """The pace of the quiet machine, by which a lasting disturbance is recognised."""
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
        """One case, with a disturbance planted; `hidden`: the system's account of other load is not looked at."""
        sampling = Sampling(1e-9, 60.0, samples, samples)
        parameters: dict[str, Scalar] = {
            "threads": 1,
            "pinning": str(self.cpu),
            "elements": elements,
            "sample_seconds": sample_seconds,
        }
        case = Case("memory.stream", "triad", parameters | {"plant": plant}, sampling)
        launch = Launch(1, case.benchmark, "any", 1, (case,))
        # As many samples as asked for, disturbed or not: what was disturbed is judged afterwards.
        answer = self._program.ask(line(self._machine, launch, 0, case), 120)
        if hidden and "surroundings" in answer:
            answer["surroundings"]["machine_other"] = None
        record = record_of(launch, 0, case, 1, answer, self._best)
        self._best.learn(record)  # as a run does: the machine may become faster than it was at first
        return record

    def close(self) -> None:
        """Ends the program."""
        self._program.close()
