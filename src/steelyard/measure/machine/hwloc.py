"""Reads hwloc's XML from `lstopo --of xml`, for machines whose kernel files are incomplete."""

from collections.abc import Iterator
from xml.etree import ElementTree

from steelyard.model import Cache, Core, NumaNode
from steelyard.system.answers import NoAnswer, ask
from steelyard.system.starts import find_program

_CACHE_KINDS = {"0": "unified", "1": "data", "2": "instruction"}  # hwloc_obj_cache_type_t
# The subtypes of a NUMANode that is not DRAM: hwloc's manual, "Heterogeneous memory".
_MEMORY_KINDS = {
    "HBM": "HBM", "MCDRAM": "HBM", "SPM": "unknown", "NVM": "persistent", "GPUMemory": "GPU", "CXL-DRAM": "CXL",
    "CXL-NVM": "CXL",
}  # fmt: skip
# lstopo answers in some 50 ms. If it hangs (through a broken GPU driver), it must not delay a run.
_SECONDS = 5.0
_MOST = 64 << 20  # bytes; large machines have some megabytes


def ask_lstopo() -> str | None:
    """Returns the XML of this machine, or None if lstopo is not installed, fails or hangs."""
    program = find_program("lstopo-no-graphics") or find_program("lstopo")
    if program is None:
        return None
    try:
        answer = ask([program, "--no-io", "--of", "xml"], _SECONDS, most=_MOST)
    except NoAnswer:
        return None
    document, end, _ = answer.stdout.rpartition("</topology>")
    begin = document.find("<?xml")  # plugins of lstopo may print before it
    return document[begin:] + end if begin >= 0 and answer.returncode == 0 else None


def read_hwloc(xml_text: str) -> tuple[tuple[Core, ...], tuple[NumaNode, ...], tuple[Cache, ...]]:
    """Returns cores, memory nodes and caches from hwloc's XML (versions 1 and 2).

    Raises ValueError if the text is not XML, or its sets and sizes are malformed.
    Source: hwloc's manual, "Importing and exporting topologies from/to XML files".
    """
    try:
        document = ElementTree.fromstring(xml_text)
    except ElementTree.ParseError as problem:
        raise ValueError(f"this is not XML of hwloc: {problem}") from None
    objects = list(document.iter("object"))
    nodes = _read_nodes(document, objects)
    return _read_cores(objects, nodes), nodes, _read_caches(objects)


def _read_cores(objects: list[ElementTree.Element], nodes: tuple[NumaNode, ...]) -> tuple[Core, ...]:
    node_of = {cpu: node.number for node in nodes for cpu in node.cpus}
    sockets = {
        cpu: int(package.get("os_index", "0"))
        for package in _select_type(objects, "Package", "Socket")
        for cpu in _read_cpus(package)
    }
    places = sorted(
        (sockets.get(cpus[0], 0), node_of.get(cpus[0], 0), cpus)
        for cpus in (_read_cpus(core) for core in _select_type(objects, "Core"))
        if cpus
    )
    return tuple(Core(number, socket, node, cpus) for number, (socket, node, cpus) in enumerate(places))


def _read_nodes(document: ElementTree.Element, objects: list[ElementTree.Element]) -> tuple[NumaNode, ...]:
    items = sorted(_select_type(objects, "NUMANode"), key=lambda node: int(node.get("os_index", "0")))
    distances = _read_distances(document)
    return tuple(
        NumaNode(
            int(node.get("os_index", "0")),
            _read_cpus(node),
            int(node.get("local_memory", "0")),
            # Without distances from the firmware, a single node has only its distance to itself, which is 10.
            distances.get(int(node.get("os_index", "0")), (10,) if len(items) == 1 else ()),
            _name_kind(node),
        )
        for node in items
    )


def _name_kind(node: ElementTree.Element) -> str:
    if node.get("local_memory", "0") == "0":
        return "none"
    return _MEMORY_KINDS.get(node.get("subtype", ""), "DRAM")


def _read_distances(document: ElementTree.Element) -> dict[int, tuple[int, ...]]:
    for table in document.iter("distances2"):
        if table.get("type") != "NUMANode":
            continue
        indexes = [int(word) for part in table.iter("indexes") for word in (part.text or "").split()]
        values = [int(word) for part in table.iter("u64values") for word in (part.text or "").split()]
        width = len(indexes)
        if width and len(values) == width * width:
            return {index: tuple(values[row * width : (row + 1) * width]) for row, index in enumerate(indexes)}
    return {}


def _read_caches(objects: list[ElementTree.Element]) -> tuple[Cache, ...]:
    caches = []
    for item in objects:
        kind, size = item.get("type", ""), int(item.get("cache_size", "0"))
        if not kind.endswith("Cache") or size == 0 or not _read_cpus(item):
            continue
        inclusive = {"1": True, "0": False}.get(item.get("cache_inclusive", _read_info(item, "Inclusive")))
        line = int(item.get("cache_linesize", "64")) or 64
        name = _CACHE_KINDS.get(item.get("cache_type", "0"), "unified")
        caches.append(Cache(int(item.get("depth", "0")), name, size, line, _read_cpus(item), inclusive))
    return tuple(sorted(caches, key=lambda cache: (cache.level, cache.kind, cache.cpus)))


def _select_type(objects: list[ElementTree.Element], *names: str) -> Iterator[ElementTree.Element]:
    return (item for item in objects if item.get("type") in names)


def _read_info(item: ElementTree.Element, name: str) -> str:
    return next((info.get("value", "") for info in item.findall("info") if info.get("name") == name), "")


def _read_cpus(item: ElementTree.Element) -> tuple[int, ...]:
    """Returns the processors of a set such as '0x3,,0x1': words of 32 bits, the highest first, empty ones are 0."""
    bits = 0
    for word in item.get("cpuset", "").split(","):
        bits = (bits << 32) | int(word or "0", 16)
    return tuple(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)
