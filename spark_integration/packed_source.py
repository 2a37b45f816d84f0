"""Compress the data source, because Spark sends it with each task although tasks do not need it.

Spark sends the class of a data source with each task of a read or a write, though no task uses it. Each task
of a read also gets an instance of the class, and asks it only for its name. Pickled by value,
`KafkaDataSource` would add half a megabyte to each task. Spark would then warn about large task binaries
twice in each micro-batch, and each task of a read would spend 13 ms on unpickling what it does not need.
"""

from __future__ import annotations

import pickle
import zlib
from typing import Any, cast

from pyspark import cloudpickle
from pyspark.sql import datasource
from pyspark.sql.types import StructType

from spark_integration.reading.source import KafkaDataSource
from spark_integration.shipping import send_by_value

send_by_value(__name__)


class PackedSource(datasource.DataSource):
    """Unpacks `KafkaDataSource` when Spark asks for a schema, a reader or a writer, and passes the call on.

    The methods must not be called in the process in which this module was imported normally: unpickling the
    class there would replace its methods by those of the copy.
    """

    _packed = zlib.compress(cast(Any, cloudpickle).dumps(KafkaDataSource))

    @classmethod
    def name(cls) -> str:
        """Return the name for `format(...)`."""
        return "copartition"

    def schema(self) -> StructType:
        """Return the columns of the source; called by Spark if no schema is given."""
        return self._unpack().schema()

    def reader(self, schema: StructType) -> datasource.DataSourceReader:
        """Return the reader of a batch; called by Spark on the driver, once for a query."""
        return self._unpack().reader(schema)

    def streamReader(self, schema: StructType) -> datasource.DataSourceStreamReader:  # noqa: N802
        """Return the reader of a stream; called by Spark on the driver."""
        return self._unpack().streamReader(schema)

    def writer(self, schema: StructType, overwrite: bool) -> datasource.DataSourceWriter:
        """Return the writer of a batch; called by Spark on the driver, before any task starts."""
        return self._unpack().writer(schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> datasource.DataSourceStreamWriter:  # noqa: N802
        """Return the writer of a stream; called by Spark on the driver, twice a micro-batch."""
        return self._unpack().streamWriter(schema, overwrite)

    def _unpack(self) -> KafkaDataSource:
        """Return a `KafkaDataSource` with this object's options; its class is unpickled in this process."""
        source: KafkaDataSource = pickle.loads(zlib.decompress(self._packed))(self.options)  # noqa: S301
        return source
