"""Makes `format("copartition")` known to Spark wherever this package is installed.

Since 4.0 Spark imports every module whose name begins with `pyspark_` when a session first looks for a Python
data source, and registers the `DefaultSource` in it. Elsewhere `spark_integration.register` does it.
"""

try:
    from spark_integration.packed_source import PackedSource as DefaultSource
except ImportError:
    # Without confluent-kafka there is no such format, which `register` tells; an error here would take every
    # other Python data source from the session.
    __all__: list[str] = []
else:
    __all__ = ["DefaultSource"]
