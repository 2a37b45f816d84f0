"""What many runs say together: percentiles of every figure, and the picture of one."""

from collections.abc import Sequence

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from spark_integration.errors import ColumnError
from spark_integration.simulation.runs import FIGURES


def percentiles(runs: DataFrame, *, by: Sequence[str] | None = None) -> DataFrame:
    """The median and the 95th percentile of every figure in each cell of a grid.

    Exact, and each a value that a run had: where some runs never recover there is nothing between two.

    Args:
        runs: rows of `simulate_grid` or `simulate_rebalances`, or a part of them.
        by: columns that make a cell; by default those that the grid varied.

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


def distribution_svg(
    runs: DataFrame, figure: str = "partition_pause_ms", *, by: Sequence[str] | None = None
) -> str:
    """A picture of how one figure is spread over the runs of each cell, as a file of SVG.

    Brings one number a run to the driver.

    Args:
        runs: rows of `simulate_grid` or `simulate_rebalances`, or a part of them.
        figure: the column.
        by: columns that make a cell; by default those that the grid varied.

    Raises:
        ColumnError: `runs` has no such column, or no run has a value there.
        MissingDependencyError: Jinja2 is not installed.
    """
    from copartition.reports.html import distribution_svg as draw  # noqa: PLC0415 - needs an optional package

    cell = _cell(runs, by)
    if figure not in runs.columns or figure not in FIGURES:
        known = [name for name in FIGURES if name in runs.columns]
        raise ColumnError(f"no figure {figure!r}; the frame has {', '.join(known)}")
    samples: dict[str, list[float]] = {}
    for *values, sample in runs.where(sf.col(figure).isNotNull()).select(*cell, figure).collect():
        label = ", ".join(
            f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in zip(cell, values, strict=True)
        )
        samples.setdefault(label, []).append(sample)
    if not samples:
        raise ColumnError(f"no run has a {figure}; figures of records need a scenario with a load")
    return draw(figure, {label: np.array(each, float) for label, each in samples.items()})


def _cell(runs: DataFrame, by: Sequence[str] | None) -> list[str]:
    """The columns that make a cell."""
    if by is None:
        return [name for name in runs.columns if name not in {"run", *FIGURES}]
    if isinstance(by, str) or (missing := [name for name in by if name not in runs.columns]):
        told = repr(by) if isinstance(by, str) else ", ".join(map(repr, missing))
        raise ColumnError(f"by is a list of columns of the frame ({', '.join(runs.columns)}), not {told}")
    return list(by)
