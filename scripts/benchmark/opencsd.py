"""OpenCSD's library on the same snapshot, through a C driver.

The driver is compiled where the library is installed.
"""

import json
import os
import resource
import shutil
import subprocess

_SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "opencsd.c")
_ETMV4 = ("TRCIDR0", "TRCIDR1", "TRCIDR2", "TRCIDR8", "TRCIDR9", "TRCIDR10", "TRCIDR11", "TRCIDR12", "TRCIDR13")
_OLDER = ("ETMIDR", "ETMCR", "ETMCCER", "ETMTRACEIDR")
# For each protocol: the beginning of its line, and the registers in it.
_DECODED = {
    "etmv4": ("unit %s 8", (*_ETMV4, "TRCCONFIGR", "TRCTRACEIDR")),
    "etmv3": ("etmv3 %s", _OLDER),
    "ptm": ("ptm %s", _OLDER),
}


def compile_driver(folder):
    """Compile the driver; return its path, or None and why not."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None, "no C compiler"
    path = os.path.join(folder, "opencsd")
    command = [compiler, "-O2", "-o", path, _SOURCE, "-lopencsd_c_api", "-lopencsd"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        return None, "no OpenCSD library to compile against (Debian: libopencsd-dev)"
    return path, ""


def write_parameters(snapshot, folder):
    """Write a snapshot's buffer, units and memory for the driver.

    :returns: The path of the parameter file; None when the driver cannot decode the snapshot.
    """
    from gdb_etm.capture import BufferFormat
    from gdb_etm.program.image import Program
    from gdb_etm.protocols.profile import is_m_profile
    from gdb_etm.snapshot.reader import read_snapshot

    captures = [one for one in read_snapshot(snapshot) if any(source.protocol in _DECODED for source in one.sources)]
    formats = {BufferFormat.FRAMES: "frames", BufferFormat.RAW: "raw"}
    if len(captures) != 1 or captures[0].format not in formats:
        return None
    (capture,) = captures
    units = [source for source in capture.sources if source.protocol in _DECODED]
    if any(source.protocol not in (*_DECODED, "stm", "itm") for source in capture.sources):
        return None
    os.makedirs(folder, exist_ok=True)

    def put(name, data):
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    lines = ["buffer %s %s" % (formats[capture.format], put("buffer", capture.buffer))]
    for unit in units:
        opening, names = _DECODED[unit.protocol]
        registers = [unit.registers.get(name, 0) for name in names]
        profile = "m" if is_m_profile(unit.core) else "a"
        lines.append("%s %s" % (opening % profile, " ".join("%x" % value for value in registers)))
    pieces = Program([image for unit in units for image in unit.images]).pieces
    lines += ["image %x %s" % (start, put("image_%d" % at, data)) for at, (start, data) in enumerate(pieces)]
    return put("parameters", ("\n".join(lines) + "\n").encode())


def run(driver, parameters, *options):
    """Decode with the library.

    :returns: What the driver reports, and the seconds of the whole process as "whole"; None when the library gives up.
    """
    begun = spent()
    done = subprocess.run([driver, parameters, *options], stdout=subprocess.PIPE, check=False)
    whole = spent() - begun
    if done.returncode:
        return None
    return dict(json.loads(done.stdout), whole=whole)


def spent():
    """Return the seconds of the processor that all processes took that were run and are over."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def list_elements(snapshot):
    """Let OpenCSD's own program list the elements; return its seconds.

    :returns: None without the program (Debian: libopencsd-bin), and when it gives up.
    """
    lister = shutil.which("trc_pkt_lister")
    if lister is None:
        return None
    command = [lister, "-ss_dir", snapshot, "-decode_only", "-logfilename", os.devnull]
    begun = spent()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return None if done.returncode else spent() - begun
