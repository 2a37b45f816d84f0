"""What only some Sparks have: the only reasons for which a Spark test may be left out.

A test marked `needs(feature)` is left out where the feature is missing, and the run says so at its end. It is
not skipped: a skip also hides what was not installed, so with CI=true it is a failure.
"""

import os
from importlib import import_module
from importlib.util import find_spec

from pyspark.sql import DataFrame, functions

CLASSIC = os.environ.get("SPARK_TEST_MODE") != "connect"

# A feature, why it may be lacking, and whether it is there.
FEATURES = {
    "data sources": (
        "Python data sources came with Spark 4.0",
        find_spec("pyspark.sql.datasource") is not None,
    ),
    "arrow_udf": ("arrow_udf came with Spark 4.1", hasattr(functions, "arrow_udf")),
    "repartitionById": ("repartitionById came with Spark 4.1", hasattr(DataFrame, "repartitionById")),
    "admission control": (
        "a stream is read in parts since Spark 4.2",
        find_spec("pyspark.sql.streaming.datasource") is not None,
    ),
    "filter pushdown": (
        "Spark offers filters to Python data sources since 4.1",
        find_spec("pyspark.sql.datasource") is not None
        and hasattr(import_module("pyspark.sql.datasource"), "EqualTo"),
    ),
    "classic": ("Connect keeps the JVM out of reach", CLASSIC),
    "time": ("costly, and no different on another Spark", "SPARK_TEST_MATRIX" not in os.environ),
}
MISSING = {feature: reason for feature, (reason, present) in FEATURES.items() if not present}
