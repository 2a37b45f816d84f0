"""Define the ground of an answer: the evidence that was read, or what is missing and how to get it.

A finding, a step or an "ok" gets a `Ground` when it is built. An `Evidence` without a source and a `Missing`
without a remedy raise ValueError, so that no answer can be built on nothing.
"""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Evidence:
    """The sources from which an answer was read.

    Attributes:
        sources: one phrase for each source that was read, such as "the end offsets of 12 partitions"; at
            least one.
        assumed: one sentence for each thing that the answer assumes and that no source shows.

    Raises:
        ValueError: no source is named, or a phrase is empty.

    Example:
        >>> Evidence(("the members in DescribeGroups",)).sources
        ('the members in DescribeGroups',)
    """

    sources: tuple[str, ...]
    assumed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.sources or not all((*self.sources, *self.assumed)):
            raise ValueError(f"evidence names at least one source, and no phrase is empty: {self!r}")


@dataclass(frozen=True, slots=True)
class Missing:
    """A fact that an answer needs and that no source shows, with the way to learn it.

    Attributes:
        what: what is not known, as a clause such as "the capture shows no committed offsets".
        remedy: how to learn it, as a command or a sentence in the imperative.

    Raises:
        ValueError: one of the two is empty.

    Example:
        >>> Missing("the capture shows no lag", "capture it with --offsets, or ask live:GROUP").what
        'the capture shows no lag'
    """

    what: str
    remedy: str

    def __post_init__(self) -> None:
        if not self.what or not self.remedy:
            raise ValueError(f"what is missing and the way to get it are both named: {self!r}")


Ground: TypeAlias = Evidence | Missing
"""The ground of an answer: its evidence, or what is missing for it.

Without evidence the answer is "unknown".
"""
