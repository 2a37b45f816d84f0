"""CPU seconds of a process and all below it, read from Linux, and Spark's Python workers among them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def below(pid: int) -> list[int]:
    """The process and all that it has started, itself or through others, that live."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    found = [pid]
    for process in found:
        found += children.get(process, [])
    return found


def cpu_s(pid: int) -> float:
    """CPU seconds of the process, all below it, and those of theirs that have ended and were waited for."""
    ticks = 0
    for process in below(pid):
        with suppress(OSError):
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(int(field) for field in fields[11:15])
    return ticks / _TICKS


def python_workers(pid: int) -> list[int]:
    """Spark's Python workers below a driver: forks of the server of `warm_python`, without itself."""
    workers = []
    for process in below(pid):
        with suppress(OSError):
            if b"warm_python.py" in Path(f"/proc/{process}/cmdline").read_bytes():
                workers.append(process)
    return workers[1:]
