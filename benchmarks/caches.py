"""Other sizes of caches on one machine: a neighbour walks a buffer, and a probe says what is left.

Two cores of a virtual machine are often two threads of one real core, which then share its caches. A
neighbour that writes to one line after the other of a buffer as large as L2 takes its part of it; one whose
buffer no cache holds also takes memory's bandwidth; one that only waits leaves all, and keeps others away.
What is left is measured, not assumed: where cores share nothing, the neighbour takes nothing, and the probe
says so.
"""

from __future__ import annotations

import mmap
import os
import shutil
import struct
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.measured import cache_sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LINE = 64
PROBED_KIB = (256, 384, 512, 640, 768, 896, 1024, 1280, 1536, 1792, 2048, 3072, 4096)
"""Sizes of the buffers that the probe reads; each is held by L2 on some machine."""
SLOWER = 1.25
"""A buffer is in the cache if a line of it takes at most so many times what the fastest buffer's takes."""
READS = 1 << 21
"""Lines that are read in a pass of the probe: some milliseconds, so that the neighbour's share is known."""
WALKED = 0.8
"""A pass counts if the neighbour ran in so much of its time; others may use that core, too."""
PATIENCE = 300
"""Passes that are tried for one that counts."""

SOURCE = Path(__file__).parent / "competitors" / "neighbour.c"


class Neighbour:
    """A process that walks a buffer on another core; it tells how much of that core's time it has had."""

    def __init__(self, program: Path, core: int, walked: int, told: str) -> None:
        self._process = subprocess.Popen([program, str(core), str(walked), told])
        with open(told, "r+b") as file:  # noqa: PTH123 - a mapping keeps the file
            self._told = mmap.mmap(file.fileno(), 8)
        while not self.seconds():
            time.sleep(0.01)

    def seconds(self) -> float:
        """How long it has run; 0 until it walks."""
        told: float = struct.unpack_from("d", self._told)[0]
        return told

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


class Caches:
    """The caches that are left to this process beside a neighbour."""

    def __init__(self, neighbour: Neighbour) -> None:
        self._neighbour = neighbour

    def passes(self, side: Callable[[], float], count: int) -> list[float]:
        """The seconds of so many passes during which the neighbour ran; a pass returns its seconds."""
        kept = []
        for _ in range(PATIENCE * count):
            begin, walked = time.perf_counter(), self._neighbour.seconds()
            seconds = side()
            share = (self._neighbour.seconds() - walked) / (time.perf_counter() - begin)
            if share >= WALKED:
                kept.append(seconds)
            if len(kept) == count:
                return kept
        pytest.fail(f"the neighbour ran in {len(kept)} of {PATIENCE * count} passes: others use its core")

    def kib_left(self) -> int:
        """The largest buffer, in KiB, whose lines are read in any order about as fast as a small one's."""
        per_line = {}
        for kib in PROBED_KIB:
            lines = (kib << 10) // LINE
            order = np.random.default_rng(0).permutation(lines) * (LINE // 4)
            buffer, taken = np.ones(lines * LINE // 4, np.uint32), np.empty(lines, np.uint32)

            def reads(buffer=buffer, order=order, taken=taken, lines=lines) -> float:
                start = time.perf_counter()
                for _ in range(READS // lines):
                    buffer.take(order, out=taken, mode="clip")
                return time.perf_counter() - start

            per_line[kib] = min(self.passes(reads, 6)) / (READS // lines) / lines
        fast = min(per_line.values()) * SLOWER
        return max(kib for kib, cost in per_line.items() if cost <= fast)


def kinds() -> dict[str, int]:
    """How many bytes the neighbour walks, by what the table calls it; 0: it waits."""
    l2 = cache_sizes().get("L2", "2048K")
    return {
        "beside one that waits": 0,
        f"beside a walk of {l2}": int(l2.removesuffix("K")) << 10,
        "beside a walk of 512M": 512 << 20,
    }


def compiled_neighbour(folder: Path) -> Path:
    """`competitors/neighbour.c`, compiled into this folder."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a compiler of C")
    subprocess.run([compiler, "-O2", SOURCE, "-o", folder / "neighbour"], check=True)
    return folder / "neighbour"


@contextmanager
def one_core() -> Iterator[int]:
    """Keep this process, and those that it starts, on one core; the other core is given, for a neighbour."""
    before = os.sched_getaffinity(0)
    mine, *others = sorted(before)
    if not others:
        pytest.skip("needs two cores")
    os.sched_setaffinity(0, {mine})
    try:
        yield others[0]
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def caches_beside(program: Path, core: int, walked: int) -> Iterator[Caches]:
    """Beside a neighbour on this core that walks so many bytes; 0: it waits."""
    with tempfile.NamedTemporaryFile() as told:
        told.write(bytes(8))
        told.flush()
        neighbour = Neighbour(program, core, walked, told.name)
        try:
            yield Caches(neighbour)
        finally:
            neighbour.end()
