"""The names of Arm processors by their registers: implementer and part, as /proc/cpuinfo tells them."""

# Sources: Arm's technical reference manuals (MIDR_EL1), and arch/arm64/include/asm/cputype.h of Linux.
MAKERS = {
    0x41: "Arm", 0x42: "Broadcom", 0x43: "Cavium", 0x44: "DEC", 0x46: "Fujitsu", 0x48: "HiSilicon", 0x49: "Infineon",
    0x4D: "Freescale", 0x4E: "NVIDIA", 0x50: "AppliedMicro", 0x51: "Qualcomm", 0x53: "Samsung", 0x56: "Marvell",
    0x61: "Apple", 0x66: "Faraday", 0x69: "Intel", 0x6D: "Microsoft", 0x70: "Phytium", 0xC0: "Ampere",
}  # fmt: skip

_PARTS: dict[int, dict[int, str]] = {
    0x41: {
        0x920: "ARM920", 0x926: "ARM926", 0xB02: "ARM11 MPCore", 0xB36: "ARM1136", 0xB56: "ARM1156", 0xB76: "ARM1176",
        0xC05: "Cortex-A5", 0xC07: "Cortex-A7", 0xC08: "Cortex-A8", 0xC09: "Cortex-A9", 0xC0D: "Cortex-A17",
        0xC0E: "Cortex-A17", 0xC0F: "Cortex-A15", 0xD01: "Cortex-A32", 0xD02: "Cortex-A34", 0xD03: "Cortex-A53",
        0xD04: "Cortex-A35", 0xD05: "Cortex-A55", 0xD06: "Cortex-A65", 0xD07: "Cortex-A57", 0xD08: "Cortex-A72",
        0xD09: "Cortex-A73", 0xD0A: "Cortex-A75", 0xD0B: "Cortex-A76", 0xD0C: "Neoverse N1", 0xD0D: "Cortex-A77",
        0xD0E: "Cortex-A76AE", 0xD40: "Neoverse V1", 0xD41: "Cortex-A78", 0xD42: "Cortex-A78AE", 0xD43: "Cortex-A65AE",
        0xD44: "Cortex-X1", 0xD46: "Cortex-A510", 0xD47: "Cortex-A710", 0xD48: "Cortex-X2", 0xD49: "Neoverse N2",
        0xD4A: "Neoverse E1", 0xD4B: "Cortex-A78C", 0xD4C: "Cortex-X1C", 0xD4D: "Cortex-A715", 0xD4E: "Cortex-X3",
        0xD4F: "Neoverse V2", 0xD80: "Cortex-A520", 0xD81: "Cortex-A720", 0xD82: "Cortex-X4", 0xD83: "Neoverse V3AE",
        0xD84: "Neoverse V3", 0xD85: "Cortex-X925", 0xD87: "Cortex-A725", 0xD88: "Cortex-A520AE", 0xD89: "Cortex-A720AE",
        0xD8E: "Neoverse N3", 0xD8F: "Cortex-A320",
    },
    0x42: {0x100: "Brahma B53", 0x516: "Vulcan"},
    0x43: {
        0x0A0: "ThunderX", 0x0A1: "ThunderX CN88XX", 0x0A2: "OCTEON TX CN81XX", 0x0A3: "OCTEON TX CN83XX",
        0x0AF: "ThunderX2", 0x0B1: "OCTEON TX2 CN98XX", 0x0B2: "OCTEON TX2 CN96XX", 0x0B8: "ThunderX3",
    },
    0x46: {0x001: "A64FX", 0x003: "MONAKA"},
    0x48: {0xD01: "Kunpeng 920", 0xD02: "Kunpeng 920B", 0xD06: "HIP09", 0xD40: "Cortex-A76", 0xD45: "HIP10C", 0xD47: "HIP11"},
    0x4E: {0x000: "Denver", 0x003: "Denver 2", 0x004: "Carmel", 0x010: "Olympus"},
    0x50: {0x000: "X-Gene"},
    0x51: {
        0x001: "Oryon", 0x06F: "Krait", 0x201: "Kryo", 0x205: "Kryo", 0x211: "Kryo", 0x800: "Kryo 2XX Gold",
        0x801: "Kryo 2XX Silver", 0x802: "Kryo 3XX Gold", 0x803: "Kryo 3XX Silver", 0x804: "Kryo 4XX Gold",
        0x805: "Kryo 4XX Silver", 0xC00: "Falkor", 0xC01: "Saphira",
    },
    0x53: {0x001: "Exynos M1", 0x002: "Exynos M3", 0x003: "Exynos M4", 0x004: "Exynos M5"},
    0x56: {0x131: "Feroceon 88FR131", 0x581: "PJ4", 0x584: "PJ4B-MP"},
    0x61: {
        0x020: "Icestorm (A14)", 0x021: "Firestorm (A14)", 0x022: "Icestorm (M1)", 0x023: "Firestorm (M1)",
        0x024: "Icestorm (M1 Pro)", 0x025: "Firestorm (M1 Pro)", 0x028: "Icestorm (M1 Max)", 0x029: "Firestorm (M1 Max)",
        0x032: "Blizzard (M2)", 0x033: "Avalanche (M2)", 0x034: "Blizzard (M2 Pro)", 0x035: "Avalanche (M2 Pro)",
        0x038: "Blizzard (M2 Max)", 0x039: "Avalanche (M2 Max)",
    },
    0x6D: {0xD49: "Azure Cobalt 100"},
    0x70: {
        0x303: "FTC310", 0x660: "FTC660", 0x661: "FTC661", 0x662: "FTC662", 0x663: "FTC663", 0x664: "FTC664",
        0x862: "FTC862",
    },
    0xC0: {0xAC3: "Ampere-1", 0xAC4: "Ampere-1a", 0xAC5: "Ampere-1b"},
}  # fmt: skip


def arm_name(implementer: int, part: int) -> str | None:
    """Returns 'Arm Cortex-A510', 'Ampere-1'; None for a pair that is not in the table."""
    maker, name = MAKERS.get(implementer), _PARTS.get(implementer, {}).get(part)
    if maker is None or name is None:
        return None
    return name if name.startswith(maker) else f"{maker} {name}"
