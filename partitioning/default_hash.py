"""What a producer does where no partitioner is configured: hash keyed records, stick with the others."""

from __future__ import annotations

from dataclasses import dataclass

from partitioning.sticky import Sticky


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultHash(Sticky):
    """Keyed records by their hash, the others sticky by bytes: the Java client's default since 3.3 (KIP-794).

    Attributes:
        keyed: profile that places keyed records.
    """

    keyed: str | None = "java"

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "default"
