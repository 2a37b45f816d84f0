"""Which records of a topic are read."""

from dataclasses import dataclass

from partitioning.errors import InvalidConfigError


@dataclass(frozen=True)
class Selection:
    """Which records of a topic to read; of `full`, `last` and `since_ms` one at most, else a sample.

    More than one of them, or a number that selects nothing, raises `InvalidConfigError`.
    """

    full: bool = False  # every record there is when reading begins
    last: int | None = None  # so many offsets at the end of each partition
    since_ms: int | None = None  # records from this time on, milliseconds since 1970
    partitions: tuple[int, ...] | None = None  # these only; None for all
    committed: bool = False  # leave out records of transactions that are open or were aborted

    def __post_init__(self) -> None:
        if self.full + (self.last is not None) + (self.since_ms is not None) > 1:
            raise InvalidConfigError("full, last and since_ms exclude each other; give one at most")
        if self.last is not None and self.last < 1:
            raise InvalidConfigError(f"last is {self.last}: give at least 1 offset of each partition")
        if self.since_ms is not None and self.since_ms < 0:
            raise InvalidConfigError(f"since_ms is {self.since_ms}: give milliseconds since 1970")
