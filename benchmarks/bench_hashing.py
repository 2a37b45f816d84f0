"""Hashing columns of keys: ours against the JVM's, ClickHouse's, a loop over C functions and a kernel in C.

The competitor and we take turns of several passes, all of them timed; the table at the end divides its best
pass by ours. murmur2 is measured with three sizes of caches (`benchmarks/caches.py`), and blocks of several
sizes with each.
`SAVE_TABLES=1 make bench` writes it to `benchmarks/hashing.md`, whose part about the kernel stays.
"""

from __future__ import annotations

import os
import platform
import random
import shutil
import struct
import subprocess
import sys
import sysconfig
import time
import zlib
from functools import cache
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import mmh3
import numpy as np
import pytest
from confluent_kafka import fnv1a, murmur2

from benchmarks.caches import caches_beside, compiled_neighbour, kinds, one_core
from benchmarks.measured import machine, spread
from partitioning import partition_batch, partition_for_key
from partitioning.hashing import HASHES, words
from partitioning.hashing.modulo import partitions_of
from partitioning.keys import key_column
from tests.support import jars
from tools.oracle.clients import programs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

KEYS = 200_000
TURNS = 8
PASSES = 5
ANY_PARTITION = 2**31 - 1
HERE = Path(__file__).parent

# Shortest and longest key of each column, in bytes.
SHAPES = {
    "8": (8, 8),
    "16": (16, 16),
    "36": (36, 36),
    "64": (64, 64),
    "8 to 24": (8, 24),
    "30 to 40": (30, 40),
}
shapes = pytest.mark.parametrize("shape", SHAPES)

# A list of partitions among 2**31 - 1, by one C call a key, and the sign rule that goes with it.
LOOPS = {
    "murmur2": (lambda keys: [murmur2(key, ANY_PARTITION) for key in keys], "mask"),
    "crc32": (lambda keys: [zlib.crc32(key) % ANY_PARTITION for key in keys], "unsigned"),
    "fnv1a": (lambda keys: [fnv1a(key, ANY_PARTITION) for key in keys], "absolute"),
    "murmur3": (lambda keys: [mmh3.hash(key, signed=False) % ANY_PARTITION for key in keys], "unsigned"),
}


@cache
def keys_of(shape: str) -> list[bytes]:
    rng = random.Random(shape)
    return [rng.randbytes(rng.randint(*SHAPES[shape])) for _ in range(KEYS)]


class External:
    """A competitor in a process of its own: it is given the keys once, then asked for passes."""

    def __init__(self, command: list[str | Path], keys: list[bytes], folder: Path) -> None:
        self._answer = folder / "hashes"
        given = folder / "keys"
        given.write_bytes(
            struct.pack(">i", len(keys)) + b"".join(struct.pack(">i", len(key)) + key for key in keys)
        )
        self._process = subprocess.Popen(
            [*command, given, self._answer], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def seconds(self) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline()) / 1e9

    def hashes(self) -> np.ndarray:
        """The hashes of the last pass; ends the process."""
        self._process.communicate()
        return np.fromfile(self._answer, dtype=">u4")


BLOCKS_KIB = (128, 256, 512, 1024, 2048, 4096)
"""Sizes of blocks, in KiB, that are measured beside `words.BLOCK_BYTES`."""

ENOUGH = {"8": 1.0, "16": 1.0, "36": 1.0, "64": 0.8}
"""What share of the JVM's speed a column of NumPy is to have."""

RIVALS = ("the JVM", "ClickHouse", "a plain loop in C")
RACES = "| what | key bytes | against | theirs | ours | ratio | halves differ by |"
ENGINES = (
    f"| caches | left | key bytes | ours | {' | '.join(f'{name} | ratio' for name in RIVALS)} "
    "| halves differ by | holds |"
)
BLOCKS = f"| caches | left | key bytes | {' | '.join(map(str, BLOCKS_KIB))} | chosen by best |"

MEMORY = "| s of CPU | MB beside the keys at the peak | ns a key |"

MANY = 50_000_000
PLACE_MANY = f"""
import resource, time
import numpy as np, pyarrow as pa
from partitioning import partition_batch
data = np.random.default_rng(0).integers(0, 256, 8 * {MANY}, np.uint8)
offsets = np.arange(0, 8 * {MANY} + 8, 8, np.int32)
keys = pa.Array.from_buffers(pa.binary(), {MANY}, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
partition_batch(keys[:1000], 12)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
partitions = partition_batch(keys, 12)
taken = time.process_time() - start
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert len(partitions) == {MANY} and partitions.max() == 11
print(taken, (after - before) * 1024)
"""

PAGE = HERE / "hashing.md"
DECISION = "## Why there is no kernel in C"
"""The heading of the part of the page that stays."""


class Row(NamedTuple):
    """A line of the table; times in ns a key.

    `differs` is the `spread` of the competitor's passes and of ours, the larger of the two.
    """

    what: str
    shape: str
    against: str
    theirs: float
    ours: float
    differs: float

    def __str__(self) -> str:
        times = f"{self.theirs:.1f} | {self.ours:.1f} | {self.theirs / self.ours:.2f} | {self.differs:.0%}"
        return f"| {self.what} | {self.shape} | {self.against} | {times} |"


class CacheRow(NamedTuple):
    """What one length of keys takes beside one neighbour; times in ns a key.

    `left` is what the probe found of L2, in KiB, and `blocks` has a time for each of `BLOCKS_KIB`.
    """

    caches: str
    left: int
    shape: str
    ours: float
    theirs: dict[str, float]
    differs: float
    blocks: dict[int, float]

    def race(self) -> str:
        """The line of who is how fast."""
        ratios = {name: time / self.ours for name, time in self.theirs.items()}
        enough = ENOUGH.get(self.shape)
        holds = "-" if enough is None else "yes" if ratios["the JVM"] >= enough else "no"
        columns = " | ".join(f"{time:.1f} | {ratios[name]:.2f}" for name, time in self.theirs.items())
        return (
            f"| {self.caches} | {self.left} | {self.shape} | {self.ours:.1f} | {columns} "
            f"| {self.differs:.0%} | {holds} |"
        )

    def sweep(self) -> str:
        """The line of what blocks of other sizes take."""
        chosen = words.BLOCK_BYTES >> 10
        columns = " | ".join(f"{time:.1f}" for time in self.blocks.values())
        return (
            f"| {self.caches} | {self.left} | {self.shape} | {columns} "
            f"| {self.blocks[chosen] / min(self.blocks.values()):.2f} |"
        )


class Table:
    """Runs the races and keeps what came out."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.of_caches: list[CacheRow] = []
        self.memory: list[str] = []
        self.saved = tables_of(PAGE.read_text().partition(DECISION)[0])

    def race(self, benchmark, what, shape, against, ours, theirs) -> None:
        """Our turns, each after one of theirs; a pass returns its seconds."""
        seconds = {ours: [], theirs: []}

        def run(side):
            seconds[side].extend(side() for _ in range(PASSES))

        benchmark.group = f"{what}, {shape} bytes"
        benchmark.pedantic(run, args=(ours,), setup=lambda: run(theirs), rounds=TURNS, warmup_rounds=1)
        best = (min(seconds[side]) / KEYS * 1e9 for side in (theirs, ours))
        row = Row(what, shape, against, *best, max(map(spread, seconds.values())))
        benchmark.extra_info.update(row._asdict())
        self.rows.append(row)

    def __str__(self) -> str:
        memory = "".join(f"{line}\n" for line in self.memory or self.saved.get(MEMORY, ()))
        races, engines, blocks = (
            "".join(f"{line}\n" for line in merge_lines(lines, self.saved.get(head, ())))
            for head, lines in (
                (RACES, map(str, self.rows)),
                (ENGINES, map(CacheRow.race, self.of_caches)),
                (BLOCKS, map(CacheRow.sweep, self.of_caches)),
            )
        )
        return f"""# Hashing: ns a key on one core

Python {platform.python_version()}, NumPy {np.__version__}, {machine()}; columns of {KEYS:,} keys.
Best of {TURNS * PASSES} passes, in turns of {PASSES} with the competitor. The ratio says how many times
faster we are, the last column by how much the best of the first and of the second half of the passes differ,
of them or of us, whoever differs more: a ratio is as uncertain as that.
Load average at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.
Again: `SAVE_TABLES=1 make bench`; a run of some cells (`pytest -k`) replaces theirs and leaves the others.

What bounds us: with one length, about eight NumPy passes for each 4 bytes of a key; with mixed lengths,
sorting by length and copying keys into rows, about 20 ns a key; with a list of bytes, reading the objects.

{RACES}
{rule_of(RACES)}
{races}
## Three sizes of caches

murmur2 by all of them in turns, in one run, on one core; ns a key. A neighbour on the other core waits, or
writes to one line of its buffer after the other, and a pass counts only if it ran then. "left" is the largest
buffer, in KiB, whose lines come in any order about as fast as a small one's: what this core has of L2 then.
The last column says whether a column has the JVM's speed up to 36 bytes, and four fifths of it at 64.

{ENGINES}
{rule_of(ENGINES)}
{engines}
Blocks of other sizes, in KiB, in the same run; ns a key. {words.BLOCK_BYTES >> 10} is what is taken; the last
column divides its time by the best.

{BLOCKS}
{rule_of(BLOCKS)}
{blocks}
## Memory

`partition_batch` on {MANY:,} keys of 8 bytes in an Arrow array, in a process of its own. The answer
alone is {4 * MANY / 1e6:.0f} MB.

{MEMORY}
{rule_of(MEMORY)}
{memory}
"""


def rule_of(head: str) -> str:
    """The line under the head of a table."""
    return "|---" * (head.count("|") - 1) + "|"


def tables_of(page: str) -> dict[str, list[str]]:
    """The lines of a page's tables, by their heads."""
    tables: dict[str, list[str]] = {}
    for block in page.split("\n\n"):
        head, *lines = block.strip().splitlines() or [""]
        if head.startswith("| "):
            tables[head] = lines[1:]
    return tables


def merge_lines(lines: Iterable[str], saved: Iterable[str]) -> list[str]:
    """The lines of a table, in its order: those of this run, and saved ones of cells that it left out.

    Saved lines of a neighbour that takes what another machine has of caches are left out.
    """
    neighbours = [*kinds()]

    def place(line: str) -> tuple[object, ...] | None:
        first, second, third, *_ = (cell.strip() for cell in line.strip("|").split("|"))
        if third not in SHAPES:
            return first, third, [*SHAPES].index(second)
        return (neighbours.index(first), [*SHAPES].index(third)) if first in neighbours else None

    cells = {key: line for line in (*saved, *lines) if (key := place(line)) is not None}
    return [cells[key] for key in sorted(cells)]


@pytest.fixture(scope="module")
def table(request) -> Iterator[Table]:
    made = Table()
    yield made
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\n\n{made}")
    if os.environ.get("SAVE_TABLES"):
        PAGE.write_text(f"{made}{DECISION}{PAGE.read_text().partition(DECISION)[2]}")


def time_call(call: Callable[[], object]) -> Callable[[], float]:
    def seconds() -> float:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    return seconds


@shapes
@pytest.mark.parametrize("name", LOOPS)
def test_a_column_against_a_loop(benchmark, table, shape, name):
    keys = keys_of(shape)
    column = key_column(keys)
    loop, sign = LOOPS[name]

    def ours():
        return partitions_of(HASHES[name].column(column.offsets, column.data), ANY_PARTITION, sign)

    assert ours().tolist() == loop(keys)
    table.race(benchmark, name, shape, "a loop of C calls", time_call(ours), time_call(lambda: loop(keys)))


@shapes
def test_a_list_of_keys_against_a_loop(benchmark, table, shape):
    keys = keys_of(shape)
    loop, _ = LOOPS["murmur2"]

    def ours():
        return partition_batch(keys, ANY_PARTITION)

    assert ours().tolist() == loop(keys)
    table.race(
        benchmark,
        "a list of bytes",
        shape,
        "a loop of C calls",
        time_call(ours),
        time_call(lambda: loop(keys)),
    )


def jvm() -> list[str | Path]:
    if missing := jars.missing_tools():
        pytest.skip(missing)
    folder = jars.fetch(HERE.parent / "tools" / "oracle" / "assignors" / "pom.xml")
    return ["java", "-cp", f"{folder}/*", HERE / "competitors" / "Murmur2Loop.java"]


def clickhouse() -> list[str | Path]:
    interpreter, *_ = programs.python_apart("clickhouse")
    return [interpreter, "-W", "ignore", HERE / "competitors" / "clickhouse_murmur2.py"]


@shapes
def test_murmur2_with_other_caches(benchmark, table, kernel, tmp_path, shape, monkeypatch):
    column = key_column(keys_of(shape))
    in_c = np.empty(len(column), np.int32)
    program = compiled_neighbour(tmp_path)

    def ours():
        return HASHES["murmur2"].column(column.offsets, column.data)

    def plain_c():
        kernel.column("murmur2 in turn", column.offsets, column.data, in_c, 0, 0)

    with one_core() as other:
        folders = [tmp_path / name for name in ("jvm", "clickhouse")]
        for folder in folders:
            folder.mkdir()
        engines = [
            External(command(), keys_of(shape), folder)
            for command, folder in zip((jvm, clickhouse), folders, strict=True)
        ]
        calls = (time_call(ours), engines[0].seconds, engines[1].seconds, time_call(plain_c))
        sides = dict(zip(("us", *RIVALS), calls, strict=True))
        for name, walked in kinds().items():
            with caches_beside(program, other, walked) as caches:
                left = caches.kib_left()
                seconds = {side: [] for side in sides}
                blocks = {kib: [] for kib in BLOCKS_KIB}
                for _ in range(TURNS):
                    for side, call in sides.items():
                        seconds[side] += caches.passes(call, PASSES)
                    for kib in BLOCKS_KIB:
                        with monkeypatch.context() as patch:
                            patch.setattr(words, "BLOCK_BYTES", kib << 10)
                            blocks[kib] += caches.passes(sides["us"], 2)
            us, *theirs = (min(times) / KEYS * 1e9 for times in seconds.values())
            table.of_caches.append(
                CacheRow(
                    name,
                    left,
                    shape,
                    us,
                    dict(zip(RIVALS, theirs, strict=True)),
                    max(map(spread, seconds.values())),
                    {kib: min(times) / KEYS * 1e9 for kib, times in blocks.items()},
                )
            )
        benchmark.pedantic(ours, rounds=1)
        for engine, bits in zip(engines, (0xFFFFFFFF, 0x7FFFFFFF), strict=True):
            np.testing.assert_array_equal(engine.hashes(), ours().view(np.uint32) & np.uint32(bits))
    np.testing.assert_array_equal(in_c, ours())


@pytest.mark.parametrize("shape", ["16"])
def test_one_key_against_a_bare_c_call(benchmark, table, shape):
    keys = keys_of(shape)

    def ours():
        return [partition_for_key(key, 12) for key in keys]

    def bare():
        return [murmur2(key, 12) for key in keys]

    assert ours() == bare()
    table.race(
        benchmark, "partition_for_key", shape, "confluent_kafka.murmur2", time_call(ours), time_call(bare)
    )


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """`competitors/kernel.c`, compiled."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a compiler of C")
    library = tmp_path_factory.mktemp("kernel") / "kernel.abi3.so"
    headers = sysconfig.get_path("include")
    source = HERE / "competitors" / "kernel.c"
    subprocess.run([compiler, "-O3", "-shared", "-fPIC", f"-I{headers}", source, "-o", library], check=True)
    spec = spec_from_file_location("kernel", library, loader=ExtensionFileLoader("kernel", str(library)))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@shapes
@pytest.mark.parametrize(
    ("name", "rule", "against"),
    [
        ("murmur2", "murmur2", "a kernel in C"),
        ("fnv1a", "fnv1a", "a kernel in C"),
    ],
)
def test_a_column_against_c(benchmark, table, kernel, shape, name, rule, against):
    column = key_column(keys_of(shape))
    out = np.empty(len(column), np.int32)

    def ours():
        return HASHES[name].column(column.offsets, column.data)

    def theirs():
        kernel.column(rule, column.offsets, column.data, out, 0, 0)

    table.race(benchmark, name, shape, against, time_call(ours), time_call(theirs))
    np.testing.assert_array_equal(out, ours())


@shapes
def test_a_column_against_a_copy_of_its_bytes(benchmark, table, shape):
    column = key_column(keys_of(shape))

    def ours():
        return HASHES["murmur2"].column(column.offsets, column.data)

    table.race(
        benchmark, "murmur2", shape, "a copy of the bytes", time_call(ours), time_call(column.data.copy)
    )


def test_memory_of_many_keys(benchmark, table):
    def place_many() -> list[float]:
        done = subprocess.run([sys.executable, "-c", PLACE_MANY], check=True, capture_output=True, text=True)
        return [float(word) for word in done.stdout.split()]

    seconds, beside = benchmark.pedantic(place_many, rounds=1)
    table.memory = [f"| {seconds:.1f} | {beside / 1e6:.0f} | {seconds / MANY * 1e9:.1f} |"]


@pytest.mark.parametrize("shape", ["16"])
def test_one_key_against_the_kernel(benchmark, table, kernel, shape):
    keys = keys_of(shape)

    def ours():
        return [partition_for_key(key, 12) for key in keys]

    def theirs():
        return [kernel.place_murmur2(key, 12) for key in keys]

    assert ours() == theirs()
    table.race(benchmark, "partition_for_key", shape, "a kernel in C", time_call(ours), time_call(theirs))
