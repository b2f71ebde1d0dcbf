"""The devices that the commands of power read."""

from steelyard.measure.telemetry.sensors import Device
from steelyard.power.command_line.connections import say


def open_devices(words: list[str] | None) -> list[Device]:
    """Opens all devices of this machine and those that the user names. Prints why others cannot be read."""
    from steelyard.measure.telemetry import sensors

    named = [sensors.open_device(word) for word in words or []]
    readable = sensors.find()
    for sentence in (*readable.refused, *(note for device in named for note in device.notes)):
        say(sentence)
    return [*readable.devices, *named]
