"""Mistakes in `spark_integration`: path, text, what replaces it, and the tests that have to notice."""

RECORDS = "tests/spark_integration/sinks/test_records.py"
PLACEMENT = "tests/spark_integration/sinks/test_placement.py"
DELIVERY = "tests/spark_integration/sinks/test_delivery_without_broker.py"
FORMS = "copartition/audit/logical.py"
NAMED = "tests/copartition/audit/test_forms.py"

HALF_DONE = "tests/spark_integration/sinks/exactly_once/test_half_done.py"
HALF_DONE_WITHOUT_BROKER = "tests/spark_integration/sinks/exactly_once/test_half_done_without_broker.py"

ROWS = [
    # How the exactly-once sink treats transactions that brokers did not end.
    (
        "spark_integration/sinks/exactly_once/writing.py",
        "added=content.records - self._begun_at",
        "added=content.records",
        "tests/spark_integration/sinks/exactly_once/test_entries.py",
    ),
    (
        "spark_integration/sinks/exactly_once/half_done.py",
        "producer.flush(ANSWER_WITHIN_S)",
        "pass",
        HALF_DONE_WITHOUT_BROKER,
    ),
    (
        "spark_integration/sinks/exactly_once/half_done.py",
        "            end_half_done(target, partition, producer)",
        "            pass",
        HALF_DONE_WITHOUT_BROKER,
    ),
    (
        "spark_integration/sinks/exactly_once/half_done.py",
        "return count == expected",
        "return True",
        HALF_DONE_WITHOUT_BROKER,
    ),
    (
        "spark_integration/sinks/exactly_once/writing.py",
        "end_dropped(admin, self._target, self._partition, self._producer, self._last)",
        "pass",
        HALF_DONE,
    ),
    # A version that finds no ledger where records are.
    (
        "spark_integration/sinks/exactly_once/partitions.py",
        "if not fenced or (message.offset() or 0) >= end:",
        "if True:",
        "tests/spark_integration/sinks/exactly_once/test_partitions.py",
    ),
    (
        "spark_integration/sinks/exactly_once/writing.py",
        "        if self._last is None:\n",
        "        if False:\n",
        "tests/spark_integration/sinks/exactly_once/test_writing.py",
    ),
    # What Spark's executors do without Spark.
    (
        "spark_integration/sinks/records.py",
        '.argsort(kind="stable")',
        ".argsort()",
        RECORDS,
    ),
    (
        "spark_integration/sinks/records.py",
        "time and time.astimezone(UTC)",
        "time and time.replace(tzinfo=UTC)",
        RECORDS,
    ),
    (
        "spark_integration/sinks/records.py",
        "(partition >= limits)",
        "(partition > limits)",
        RECORDS,
    ),
    (
        "spark_integration/sinks/records.py",
        "if named.all() and ",
        "if ",
        RECORDS,
    ),
    (
        "spark_integration/sinks/placement.py",
        "            wrong &= expected >= 0\n",
        "            wrong &= key.is_valid().to_numpy(zero_copy_only=False)\n",
        PLACEMENT,
    ),
    (
        "spark_integration/sinks/placement.py",
        "of_count = counts == count",
        "of_count = counts >= count",
        PLACEMENT,
    ),
    (
        "spark_integration/sinks/placement.py",
        "            wrong &= partition >= 0\n",
        "            pass\n",
        PLACEMENT,
    ),
    (
        "spark_integration/reading/pushdown.py",
        '"GreaterThan": (value + 1, _MOST)',
        '"GreaterThan": (value, _MOST)',
        "tests/spark_integration/reading/test_pushdown.py",
    ),
    (
        "spark_integration/sinks/options.py",
        "config=defaults | config,",
        "config=config | defaults,",
        "tests/spark_integration/sinks/test_options.py",
    ),
    (
        "spark_integration/sinks/delivery.py",
        "            deliveries.serve(producer.poll, 0)\n            deliveries.check()\n",
        "            deliveries.serve(producer.poll, 0)\n",
        DELIVERY,
    ),
    (
        "spark_integration/sinks/delivery.py",
        "length_hint(at) - 1",
        "length_hint(at)",
        DELIVERY,
    ),
    (
        "spark_integration/sinks/process_store.py",
        'f"{what} of process {os.getpid()}"',
        'f"{what} of all processes"',
        "tests/spark_integration/sinks/test_process_store.py",
    ),
    (FORMS, "shape[framed[schema_ids(keys.take(framed)) > 0]] = FRAME", "shape[framed] = FRAME", NAMED),
    (FORMS, "sizes[quoted] -= 2", "sizes[quoted] -= 1", NAMED),
    (
        "spark_integration/auditing/counting.py",
        "taken_of.get(place, 0) < HEAD_OF_A_PARTITION",
        "taken_of.get(place, 0) <= HEAD_OF_A_PARTITION",
        "tests/spark_integration/test_shipping.py",
    ),
]
