"""What many runs say together: percentiles of every figure."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from spark_integration.errors import ColumnError
from spark_integration.simulation.runs import FIGURES


def percentiles(runs: DataFrame, *, by: Sequence[str] | None = None) -> DataFrame:
    """The median and the 95th percentile of every figure in each cell of a grid.

    Exact, and each a value that a run had: where some runs never recover there is nothing between two.

    Args:
        runs: rows of `simulate_grid` or `simulate_rebalances`, or a part of them.
        by: columns that make a cell; by default the axes of the grid.

    Returns:
        A row for each cell and figure that has a value: the columns of `by`, `figure`, and `runs` (how many
        have a value), `median` and `p95`.

    Raises:
        ColumnError: `runs` has no such column, or no figure.
    """
    cell = _cell(runs, by)
    figures = [name for name in FIGURES if name in runs.columns and name not in {"seed", *cell}]
    if not figures:
        raise ColumnError(f"the frame has no figure of a run, only {', '.join(runs.columns)}")
    percentile = "double(percentile_disc({}) WITHIN GROUP (ORDER BY value))"
    # Before Spark 4.0 the function of this name looks for constants only.
    in_order = f"array_position(array({', '.join(map(repr, figures))}), figure)"
    return (
        runs.unpivot([*cell], [*figures], "figure", "value")
        .where(sf.col("value").isNotNull())
        .groupBy(*cell, "figure")
        .agg(
            sf.count("value").alias("runs"),
            sf.expr(percentile.format(0.5)).alias("median"),
            sf.expr(percentile.format(0.95)).alias("p95"),
        )
        .orderBy(*cell, sf.expr(in_order))
    )


def _cell(runs: DataFrame, by: Sequence[str] | None) -> list[str]:
    """The columns that make a cell."""
    if by is None:
        return [name for name in runs.columns if name not in {"run", *FIGURES}]
    if isinstance(by, str) or (missing := [name for name in by if name not in runs.columns]):
        shown = repr(by) if isinstance(by, str) else ", ".join(map(repr, missing))
        raise ColumnError(f"by is a list of columns of the frame ({', '.join(runs.columns)}), not {shown}")
    return list(by)
