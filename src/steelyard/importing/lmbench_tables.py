"""The columns of the tables of LMbench."""

import re

from steelyard.importing.patterns import search
from steelyard.importing.text import Text

# The first letters of the words of both lines of the heading, and the names of the columns. A "-" stands for a column that is
# no result. LMbench 2 has no random latency and no "100fd".
COLUMNS = {
    "Processor, Processes":
        "Mnnosssfes/cIscTihppp - null_call null_io stat open_close select_tcp signal_install signal_handle fork exec shell",
    **{f"Basic {x} operations": f"i{{5}}/bamdm {x}_bit {x}_add {x}_mul {x}_div {x}_mod" for x in ("integer", "uint64")},
    **{f"Basic {x} operations": f"{x[0]}{{4}}/amdb {x}_add {x}_mul {x}_div {x}_bogo" for x in ("float", "double")},
    "Context switching": "2228811/c{7} 2p_0k 2p_16k 2p_64k 8p_16k 8p_64k 16p_16k 16p_64k",
    "*Local* Communication latencies": "2PAURTRT/cUUTc context_switch pipe af_unix udp rpc_udp tcp rpc_tcp tcp_connect",
    "*Remote* Communication latencies": "URTRT/UTc udp rpc_udp tcp rpc_tcp tcp_connect",
    "File & VM system latencies":
        "0F1FMPP1?/CDCDLFFs? create_0k delete_0k create_10k delete_10k mmap protection_fault page_fault select_100fd",
    "*Local* Communication bandwidths":
        "PATFMBBMM/Urr[(][(]rw pipe af_unix tcp file_reread mmap_reread bcopy_libc bcopy_hand read write",
    "Memory latencies": "ML[$]L[$]Mm(Rm)?G/-+ - l1 l2 main random -",
}  # fmt: skip


def name_columns(table: str, part: Text) -> list[str]:
    """Returns the names of the columns of a table; [] if its heading, the first one in `part`, is not the known one."""
    letters, *names = COLUMNS.get(table, "unknown").split()
    heading = search(r"^Host +OS +(.*)\n(.*)", part.whole)
    found = "/".join("".join(word[0] for word in line.split()) for line in heading.groups()) if heading else ""
    return [name for name in names if name != "random" or "Rm" in found] if re.fullmatch(letters, found) else []
