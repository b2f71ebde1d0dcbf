"""Rule: says that figures are those of an emulator if the processor is emulated."""

from steelyard.judge.findings.doctor import processor
from steelyard.model import Evaluation, Finding


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding if the machine is emulated."""
    advice = processor.emulation(evaluation.run.machine)
    if advice.level != "serious" or not evaluation.results:
        return []
    return [Finding("emulation", "notice", advice.seen, (), advice.why, advice.remedy, reach="figures")]
