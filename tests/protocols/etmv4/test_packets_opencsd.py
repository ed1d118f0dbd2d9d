"""Differential run against OpenCSD's trc_pkt_lister: random packets.

OpenCSD takes a packet for a reserved byte when the unit lacks the feature, so the unit here has them all.  Debian's
1.3.3 does not know the packets of ETMv4.5 and 4.6 (08, 00 07, 88), nor Function Return (05).
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import List, NamedTuple

import pytest

from gdb_etm.capture import BufferEnd, BufferFormat, Core, RawCapture, TraceSource
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.listing import list_packets
from gdb_etm.snapshot.writer import write_snapshot
from tests.protocols.etmv4.streams import ASYNC
from tests.protocols.etmv4.test_packets import UNIT, VECTORS
from tests.protocols.histories import same

# TRCCONFIGR: loads and stores as P0, Context ID, VMID, all conditionals, data addresses and values.
# TRCIDR0: data trace, conditional trace, Q elements; COMMOPT in bit 29.
REGISTERS = {
    "TRCCONFIGR": 0x000307C7,
    "TRCTRACEIDR": 0x10,
    "TRCIDR0": 0x08018EFF,
    "TRCIDR1": 0x4100F440,
    "TRCIDR2": 4 << 10 | 4 << 5 | 8,
    "TRCIDR8": 0,
    "TRCIDR9": 0,
    "TRCIDR10": 0,
    "TRCIDR11": 0,
    "TRCIDR12": 0,
    "TRCIDR13": 0,
}
UNKNOWN_TO_OPENCSD = (b"\x05", b"\x08", b"\x88", b"\x00\x07")
COMMIT_SECTION = (0x0E, 0x0F)
START = bytes.fromhex(ASYNC + "01 00")


class Listed(NamedTuple):
    """A packet as OpenCSD lists it."""

    offset: int
    text: str


def opencsd_packets(folder: Path, capture: RawCapture) -> List[Listed]:
    program = shutil.which("trc_pkt_lister")
    if program is None:
        pytest.skip("no trc_pkt_lister (Debian: libopencsd-bin)")
    write_snapshot(capture, str(folder / "snapshot"))
    log = folder / "log.ppl"
    command = [program, "-ss_dir", str(folder / "snapshot"), "-logfilename", str(log)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, timeout=120)
    found: List[Listed] = []
    for line in log.read_text("utf-8", "replace").splitlines():
        match = re.match(r"Idx:(\d+); ID:[0-9a-f]+;\t(.*)", line)
        if match is None:
            continue
        if found and found[-1].text.startswith("I_EXCEPT :"):
            # It lists the address in an Exception packet by itself.
            found[-1] = Listed(found[-1].offset, found[-1].text.replace("I_EXCEPT :", "I_EXCEPT+") + match[2])
        else:
            found.append(Listed(int(match[1]), match[2]))
    return found


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("seed", range(4))
def test_same_packets(mode: int, seed: int, tmp_path: Path) -> None:
    registers = dict(REGISTERS, TRCIDR0=REGISTERS["TRCIDR0"] | mode << 29)
    source = TraceSource("ETM_0", "etmv4", registers, Core("cpu_0", "Cortex-A57", {}), ())
    packets = [bytes.fromhex(part) for config, text, _, _ in VECTORS if config is UNIT for part in text.split("|")]
    packets = [packet for packet in packets if not packet.startswith(UNKNOWN_TO_OPENCSD)]
    # With COMMOPT 1 the first packet of this kind has no COMMIT section (L9793).
    packets = [packet for packet in packets if not mode or packet[0] not in COMMIT_SECTION]
    packets += [b"\x0e\x83\x01", b"\x0f"] if mode else []
    choose = random.Random(seed)
    data = START + b"".join(choose.choice(packets) for _ in range(1500)) + START
    expected = opencsd_packets(tmp_path, RawCapture(data, BufferFormat.RAW, (source,), BufferEnd.STARTED))
    found = list(list_packets(Etmv4Config.from_source(source), data, same))
    assert [packet.offset for packet in found] == [one.offset for one in expected]
    for packet, (_, text) in zip(found, expected):
        # Addresses tell that the three address registers are kept alike; timestamps that theirs is.  In 32-bit state
        # OpenCSD clears bits 63:32 of the registers, which the specification keeps (L11100).
        address = re.search(r"Addr=0x([0-9A-F]+)", text)
        if address is not None and "I_Q" not in text:
            ours = re.search(r"0x([0-9a-f]+) IS[01]", packet.fields)
            assert ours is not None and (int(ours[1], 16) ^ int(address[1], 16)) & 0xFFFFFFFF == 0, (packet, text)
        time = re.search(r"Updated val = 0x([0-9A-Fa-f]+)", text)
        if time is not None:
            assert int(packet.fields.split(",")[0], 16) == int(time[1], 16), (packet, text)
