"""ClickHouse's kafkaMurmurHash, one thread, over the keys of a file; asked as Murmur2Loop.java is."""

import struct
import sys
import time
from pathlib import Path

from chdb.session import Session


def main() -> None:
    keys = read(Path(sys.argv[1]).read_bytes())
    session = Session()
    session.query("CREATE TABLE keys (row UInt32, key String) ENGINE = Memory")
    for first in range(0, len(keys), 10_000):
        rows = ",".join(
            f"({row},unhex('{key.hex()}'))" for row, key in enumerate(keys[first : first + 10_000], first)
        )
        session.query(f"INSERT INTO keys VALUES {rows}")
    for _ in sys.stdin:
        start = time.perf_counter_ns()
        session.query("SELECT sum(kafkaMurmurHash(key)) FROM keys SETTINGS max_threads = 1")
        print(time.perf_counter_ns() - start, flush=True)
    answer = session.query("SELECT kafkaMurmurHash(key) FROM keys ORDER BY row", "CSV").data()
    Path(sys.argv[2]).write_bytes(struct.pack(f">{len(keys)}I", *map(int, answer.split())))


def read(blob: bytes) -> list[bytes]:
    (count,) = struct.unpack_from(">i", blob)
    keys, position = [], 4
    for _ in range(count):
        (length,) = struct.unpack_from(">i", blob, position)
        keys.append(blob[position + 4 : position + 4 + length])
        position += 4 + length
    return keys


main()
