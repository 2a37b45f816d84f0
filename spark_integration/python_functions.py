"""Functions of Arrow arrays as column functions: Arrow-native where Spark has them, else through pandas.

A function given here must be nested in another: it then travels to executors by value, which need NumPy and
PyArrow and not this project.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
from pyspark.sql import functions as sf

ArrowFunction: TypeAlias = Callable[[pa.Array], pa.Array]


def column_function(
    name: str, function: ArrowFunction, input_type: pa.DataType, output_type: pa.DataType, spark_type: str
) -> Callable[..., Any]:
    """The function as one of columns.

    Args:
        name: what query plans call it.
        function: takes an array and gives one as long.
        input_type: Arrow type of what it takes.
        output_type: Arrow type of what it gives.
        spark_type: the same as Spark spells it.
    """
    functions: Any = sf  # the stubs have neither
    function.__name__ = name
    if hasattr(sf, "arrow_udf"):
        return functions.arrow_udf(function, spark_type)  # type: ignore[no-any-return]

    # PySpark reads the annotations of either.
    def through_pandas(values: pd.Series) -> pd.Series:
        array = pa.array(values.to_numpy(), input_type, from_pandas=False)  # or a NaN would become a null
        return function(array).to_pandas(types_mapper={output_type: pd.ArrowDtype(output_type)}.get)

    through_pandas.__name__ = name
    return functions.pandas_udf(through_pandas, spark_type)  # type: ignore[no-any-return]
