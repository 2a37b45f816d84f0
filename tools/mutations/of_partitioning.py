"""Mistakes in `partitioning`: path, text, what replaces it, and the tests that have to notice."""

KEYS = "tests/partitioning/test_keys.py"
PLACEMENT = "tests/partitioning/test_placement.py"
PROFILES = "tests/partitioning/test_profiles.py"
HASHING = "tests/partitioning/test_hashing.py"
STICKY_PARTITIONER = "tests/partitioning/test_sticky.py"
JAVA = "tests/partitioning/java"
AUDITING = "tests/copartition/audit/test_tally.py"
POWER = "tests/copartition/audit/test_search.py"
BY_KEY = "tests/partitioning/test_by_key.py"
CONFORMANCE = "tests/partitioning/testing/test_conformance.py::test_a_broken_rule_is_named"
LAYOUTS = "tests/partitioning/clients/test_layouts.py"
LOOP = "tests/partitioning/clients/test_read_process_write.py"
LOOP_SETTINGS = "tests/partitioning/clients/test_read_process_write_settings.py"
SERIALIZING = "tests/partitioning/clients/test_confluent_serializing.py"
READING = "tests/copartition/audit/test_reader.py"

ROWS = [
    (
        "partitioning/clients/confluent_aio.py",
        "PRODUCERS.add(self)",
        "pass",
        "tests/partitioning/clients/test_forked.py",
    ),
    # Hashes, their signs, and what null and empty keys do.
    (
        "partitioning/hashing/modulo.py",
        "return abs(hash_value) % num_partitions",
        "return hash_value % num_partitions",
        f"{HASHING} {PLACEMENT}",
    ),
    (
        "partitioning/hashing/modulo.py",
        "dividend = dividend & _MASK",
        "dividend = np.abs(block).view(np.uint32)",
        f"{HASHING} {PLACEMENT}",
    ),
    (
        "partitioning/hashing/murmur2.py",
        "    tail = length & 3\n    for",
        "    tail = length & 1\n    for",
        HASHING,
    ),
    ("partitioning/hashing/fnv1a.py", "for _ in range(3):", "for _ in range(2):", HASHING),
    ("partitioning/hashing/crc32.py", "-length % 4) for", "length % 4) for", HASHING),
    ("partitioning/hashing/java_string.py", "(data >= 0xF0)", "(data > 0xF0)", HASHING),
    (
        "partitioning/hashing/java_string.py",
        '.encode("utf-16-le"))\n\n\ndef java_string_column',
        '.encode("utf-16-be"))\n\n\ndef java_string_column',
        HASHING,
    ),
    (
        "partitioning/profiles.json",
        '"ruby-kafka", "hash": "crc32", "sign": "unsigned"',
        '"ruby-kafka", "hash": "crc32", "sign": "mask"',
        PLACEMENT,
    ),
    (
        "partitioning/profiles.json",
        '"ruby-kafka", "hash": "crc32", "sign": "unsigned", "null": "unkeyed"',
        '"ruby-kafka", "hash": "crc32", "sign": "unsigned", "null": "empty"',
        PLACEMENT,
    ),
    (
        "partitioning/profiles.json",
        '"librdkafka", "hash": "crc32", "sign": "unsigned", "null": "unkeyed", "empty": "unkeyed"',
        '"librdkafka", "hash": "crc32", "sign": "unsigned", "null": "unkeyed", "empty": "hashed"',
        PROFILES,
    ),
    (
        "partitioning/placement.py",
        'if not key and profile.empty == "unkeyed":',
        'if not key and profile.empty == "hashed":',
        PLACEMENT,
    ),
    (
        "partitioning/placement.py",
        'UNKEYED if rule.null == "unkeyed" else 0',
        "UNKEYED",
        PLACEMENT,
    ),
    # Columns of keys.
    (
        "partitioning/keys.py",
        "array.fill_null(",
        "(lambda _: array)(",
        f"{KEYS} {PLACEMENT}",
    ),
    (
        "partitioning/keys.py",
        "KeyColumn(np.subtract(offsets, offsets[0], dtype=np.int64), data,",
        "KeyColumn(offsets.astype(np.int64), data,",
        KEYS,
    ),
    (
        "partitioning/kit/columns.py",
        "second = key & ((1 << widths[1]) - 1)",
        "second = key & ((1 << widths[2]) - 1)",
        "tests/partitioning/kit/test_columns.py",
    ),
    # Records without a key.
    (
        "partitioning/sticky.py",
        "self._current >= layout.partitions:\n            self._move(layout)",
        "self._current > layout.partitions:\n            self._move(layout)",
        STICKY_PARTITIONER,
    ),
    (
        "partitioning/sticky.py",
        "self._current >= layout.partitions:\n            self._current =",
        "self._current > layout.partitions:\n            self._current =",
        STICKY_PARTITIONER,
    ),
    (
        "partitioning/sticky.py",
        "        return partition < layout.partitions\n",
        "        return partition <= layout.partitions\n",
        STICKY_PARTITIONER,
    ),
    ("partitioning/sticky.py", "self._produced >= (self", "self._produced > (self", STICKY_PARTITIONER),
    (
        "partitioning/sticky.py",
        "max(queues.values()) + 1",
        "max(queues.values())",
        STICKY_PARTITIONER,
    ),
    ("partitioning/sticky.py", "bisect_right(self", "bisect_left(self", STICKY_PARTITIONER),
    (
        "partitioning/round_robin.py",
        "self._order.sort()",
        "pass",
        "tests/partitioning/test_round_robin.py",
    ),
    (
        "partitioning/clients/topics.py",
        "partition.leader >= 0)",
        "partition.leader >= -1)",
        LAYOUTS,
    ),
    (
        "partitioning/clients/topics.py",
        "(KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.LEADER_NOT_AVAILABLE)",
        "(KafkaError.UNKNOWN_TOPIC_OR_PART,)",
        LAYOUTS,
    ),
    (
        "partitioning/clients/topics.py",
        "self._silent_until = monotonic() + _REFRESH_AGAIN_S",
        "self._silent_until = math.inf",
        LAYOUTS,
    ),
    (
        "partitioning/growth.py",
        "int(np.count_nonzero(old != UNKEYED))",
        "len(old)",
        "tests/partitioning/test_growth.py",
    ),
    (
        "partitioning/placement.py",
        "0 if value == -(1 << 31) else abs(value) % count",
        "abs(value) % count",
        "tests/partitioning/test_coordinator.py",
    ),
    (
        "partitioning/growth.py",
        "1 - gcd(before, after) / after",
        "1 - before / after",
        "tests/partitioning/test_growth.py",
    ),
    # The producer.
    (
        "copartition/models/producer/idempotence.py",
        "batch.epoch < self.epoch",
        "batch.epoch <= self.epoch",
        "tests/copartition/models/producer/test_idempotence.py",
    ),
    (
        "copartition/models/producer/idempotence.py",
        "self.epoch >= 0 and batch.first",
        "self.epoch > 0 and batch.first",
        "tests/copartition/models/producer/test_idempotence.py",
    ),
    (
        "copartition/models/producer/delivering.py",
        "self._inbox and not self._busy and",
        "self._inbox and",
        "tests/copartition/models/producer/test_delivery.py",
    ),
    (
        "copartition/models/producer/delivering.py",
        "self.replication_ms / 2 <= until",
        "self.replication_ms <= until",
        "tests/copartition/models/producer/test_delivery.py",
    ),
    (
        "copartition/models/producer/delivering.py",
        "self._broken = max(self._broken, link)",
        "self._broken = -1",
        "tests/copartition/models/producer/test_delivery.py",
    ),
    (
        "partitioning/record_size.py",
        "max(key_bytes, 0)",
        "key_bytes",
        "tests/copartition/models/producer/test_accumulator_golden.py",
    ),
    (
        "copartition/models/producer/librdkafka.py",
        "_MOST_OVERHEAD = 36",
        "_MOST_OVERHEAD = 37",
        "tests/copartition/models/producer/test_librdkafka.py",
    ),
    (
        "copartition/models/producer/librdkafka.py",
        "self._bytes_before[self._gone] + self._settings.batch_size",
        "self._settings.batch_size",
        "tests/copartition/models/producer/test_librdkafka.py",
    ),
    (
        "copartition/models/producer/batching.py",
        "            self._times.advance(self._events.now)",
        "            self._times.advance(0.0)",
        "tests/copartition/models/producer/test_batching.py",
    ),
    # Java's maps.
    ("partitioning/java/hash_map.py", "return length * 3 // 4", "return length * 3 // 4 - 1", JAVA),
    ("partitioning/java/hash_map.py", "> TREEIFY - head", "> TREEIFY", JAVA),
    ("partitioning/java/hash_map.py", "len(keys) <= UNTREEIFY", "len(keys) < UNTREEIFY", JAVA),
    (
        "partitioning/java/tree_bin.py",
        "return node.hash < other.hash",
        "return node.hash > other.hash",
        JAVA,
    ),
    (
        "partitioning/java/hash_codes.py",
        'return text.encode("utf-16-be"',
        'return text.encode("utf-8"',
        JAVA,
    ),
    # Audits: who is named, and how surely.
    ("copartition/audit/search.py", "math.log(risk / tried)", "math.log(risk)", POWER),
    (
        "partitioning/profiles.py",
        '"mask" if two_to_the and rule.sign',
        '"mask" if not two_to_the and rule.sign',
        f"{AUDITING} {POWER}",
    ),
    (
        "copartition/audit/search.py",
        "least = first.evidence + math.log(RISK)",
        "least = -math.inf",
        AUDITING,
    ),
    ("copartition/audit/search.py", "alone and highest == 0 <", "alone and highest >= 0 <", AUDITING),
    (
        "copartition/audit/conclusion.py",
        "explained < LIKELY * keyed or beside >= MIXED * keyed",
        "explained < LIKELY * keyed",
        AUDITING,
    ),
    (
        "copartition/audit/conclusion.py",
        "if explained == keyed and not single",
        "if not single",
        AUDITING,
    ),
    (
        "copartition/audit/reader.py",
        "self._consumer.resume(places)",
        "pass",
        f"{READING}::test_a_sample_looks_at_spots_and_says_so",
    ),
    (
        "copartition/audit/reader.py",
        "if last - first == end - begin:",
        "if True:",
        f"{READING}::test_compacted_topics_tombstones_and_transactions_are_no_surprise",
    ),
    # Plug-ins that place by key alone, and a producer that serializes.
    (
        "partitioning/placement.py",
        "(placed < -1) | (placed >= num_partitions)",
        "placed >= num_partitions",
        BY_KEY,
    ),
    ("partitioning/placement.py", " or placed.shape != (len(keys),)", "", BY_KEY),
    ("partitioning/testing/conformance.py", "if by_key == -1 else", "if by_key <= 0 else", CONFORMANCE),
    (
        "partitioning/clients/confluent.py",
        "watcher = self._watcher(own) if own else None",
        "watcher = None",
        "tests/partitioning/clients/test_confluent.py",
    ),
    ("partitioning/clients/confluent.py", "(config, **self._settings)", "(config)", SERIALIZING),
    (
        "partitioning/clients/confluent.py",
        "__exit__ = PartitioningProducer.__exit__",
        "__exit__ = SerializingProducer.__exit__",
        SERIALIZING,
    ),
    # Reading, processing and writing in transactions.
    ("partitioning/clients/read_process_write/member.py", "if self._consumer.memberid() else []", "", LOOP),
    (
        "partitioning/clients/read_process_write/member.py",
        "(record.topic(), record.partition()) not in",
        "(record.topic(), record.partition()) in",
        LOOP,
    ),
    ("partitioning/clients/read_process_write/member.py", "at.offset < self._next[of]", "False", LOOP),
    (
        "partitioning/clients/read_process_write/member.py",
        "self._first[of] < partition.offset",
        "False",
        LOOP,
    ),
    ("partitioning/clients/read_process_write/member.py", "            self._next.pop(of, None)\n", "", LOOP),
    ("partitioning/clients/read_process_write/member.py", "last.offset + 1", "last.offset", LOOP),
    ("partitioning/clients/read_process_write/loop.py", "            aborts = 0\n", "", LOOP),
    (
        "partitioning/clients/read_process_write/loop.py",
        "aborts == MOST_ABORTS",
        "aborts > MOST_ABORTS",
        LOOP,
    ),
    (
        "partitioning/clients/read_process_write/loop.py",
        "now - begun >= settings.poll_s / 2",
        "now - begun >= settings.poll_s",
        LOOP,
    ),
    (
        "partitioning/clients/read_process_write/settings.py",
        '                "isolation.level": "read_committed",\n',
        "",
        LOOP_SETTINGS,
    ),
    (
        "partitioning/clients/read_process_write/settings.py",
        "if not config.get(needed)",
        "if needed not in config",
        LOOP_SETTINGS,
    ),
]
