"""Mistakes in `spark_integration`: path, text, what replaces it, and the tests that have to notice."""

RECORDS = "tests/spark_integration/sinks/test_records.py"
RANGES = "tests/spark_integration/auditing/test_ranges.py"

ROWS = [
    # What Spark's executors do without Spark.
    (
        "spark_integration/sinks/records.py",
        'partition.argsort(kind="stable")',
        "partition.argsort()",
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
        "0 <= partition < counts[topic]",
        "0 <= partition <= counts[topic]",
        RECORDS,
    ),
    (
        "spark_integration/sinks/options.py",
        "return SinkOptions(defaults | config,",
        "return SinkOptions(config | defaults,",
        "tests/spark_integration/sinks/test_options.py",
    ),
    (
        "spark_integration/sinks/delivery.py",
        "for batch in batches:",
        "for batch in [chain.from_iterable(batches)]:",
        "tests/spark_integration/sinks/test_delivery.py",
    ),
    ("spark_integration/auditing/ranges.py", "(sizes > 5) & (sizes != 8)", "(sizes > 5)", RANGES),
]
