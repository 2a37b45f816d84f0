"""Makes `format("copartition")` known to Spark wherever this package is installed.

Since 4.0 Spark imports every module whose name begins with `pyspark_` when a session first looks for a Python
data source, and registers the module's `DefaultSource`. In other sessions, `spark_integration.register`
registers the format.
"""

try:
    from spark_integration.packed_source import PackedSource as DefaultSource
except ImportError:
    # Without confluent-kafka there is no such format. `register` raises an error that says so, but an error
    # here would keep the session from finding any other Python data source.
    __all__: list[str] = []
else:
    __all__ = ["DefaultSource"]
