"""What the commands of power share: the devices that are read."""

import sys

from steelyard.telemetry.sensors import Device


def open_devices(words: list[str] | None) -> list[Device]:
    """All that are found, and those that the user names; why others cannot be read is said."""
    from steelyard.telemetry import sensors

    named = [sensors.opened(each) for each in words or []]
    found = sensors.find()
    for sentence in (*found.refused, *sensors.notes(named)):
        print(f"steelyard: {sentence}", file=sys.stderr)
    return [*found.devices, *named]
