"""Where `kafkaMurmurHash(key) % partitions` puts each key in ClickHouse, and its other 32-bit hashes."""

import json

import chdb
from line_protocol import answer, answer_hashes, read_counts, read_keys


def ask(expression: str, keys: list[bytes | None]) -> list[int | None]:
    literals = ", ".join("NULL" if key is None else f"unhex('{key.hex()}')" for key in keys)
    query = f"SELECT arrayMap(key -> {expression}, [{literals}]) AS values SETTINGS max_query_size = 10000000"
    values: list[int | None] = json.loads(str(chdb.query(query, "JSONEachRow")))["values"]
    return values


def main() -> None:
    keys, counts = read_keys(), read_counts()
    answer_hashes("murmur3", "chdb", "murmurHash3_32", ask("reinterpretAsInt32(murmurHash3_32(key))", keys))
    for count in counts:
        answer("clickhouse", "chdb", "kafkaMurmurHash", count, ask(f"kafkaMurmurHash(key) % {count}", keys))


if __name__ == "__main__":
    main()
