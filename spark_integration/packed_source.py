"""The data source as Spark carries it about: packed, and unpacked where it is asked to work.

Spark sends the class of a data source with each task of a read or a write, though no task uses it, and to
each task of a read an object of it, of which the task asks the name. By value `KafkaDataSource` takes half a
megabyte for each of the two. Then Spark warns of a large task binary, twice a micro-batch, and each task of a
read unpickles 13 ms long what it does not need.
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
    """Passes what Spark asks on to `KafkaDataSource`, which it unpacks in the process that is asked.

    Not to be asked in the process that packed it: there `pickle` would replace the methods of the class that
    it was made of by those of the copy.
    """

    _packed = zlib.compress(cast(Any, cloudpickle).dumps(KafkaDataSource))

    @classmethod
    def name(cls) -> str:
        """Return the name in `format(...)`."""
        return "copartition"

    def schema(self) -> StructType:
        """Called by Spark where no schema is given."""
        return self._unpack().schema()

    def reader(self, schema: StructType) -> datasource.DataSourceReader:
        """Called by Spark on the driver, once for a batch."""
        return self._unpack().reader(schema)

    def streamReader(self, schema: StructType) -> datasource.DataSourceStreamReader:  # noqa: N802
        """Called by Spark on the driver for a stream."""
        return self._unpack().streamReader(schema)

    def writer(self, schema: StructType, overwrite: bool) -> datasource.DataSourceWriter:
        """Called by Spark on the driver, before any task starts."""
        return self._unpack().writer(schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> datasource.DataSourceStreamWriter:  # noqa: N802
        """Called by Spark on the driver, twice a micro-batch."""
        return self._unpack().streamWriter(schema, overwrite)

    def _unpack(self) -> KafkaDataSource:
        """Return the source with this one's options, by its own class of this process."""
        source: KafkaDataSource = pickle.loads(zlib.decompress(self._packed))(self.options)  # noqa: S301
        return source
