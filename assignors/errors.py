"""What can go wrong when partitions are assigned.

AssignorsError
 |- InvalidGroupError   a group that no coordinator can hand out                    (also ValueError)
 |- AssignorError       the strategy cannot answer; names the JVM exception it stands for
 |- ProtocolError       bytes of the consumer protocol that cannot be read or written (also ValueError)
 |- DiffError           two groups that cannot be compared as asked                (also ValueError)
 |- ScenarioError       a scenario file that cannot be simulated                     (also ValueError)
 `- SourceError         a snapshot, capture, live group or stream that cannot be read (also ValueError)
     `- GroupNotFoundError  the cluster has no such group
"""


class AssignorsError(Exception):
    """Base of every error this package raises on purpose."""


class InvalidGroupError(AssignorsError, ValueError):
    """Topics or members that no coordinator can hand out."""


class AssignorError(AssignorsError):
    """The strategy cannot answer for this group.

    Attributes:
        jvm_exception: simple name of the Java exception the JVM's assignor throws here; None where it has no
            counterpart.
    """

    def __init__(self, message: str, *, jvm_exception: str | None = None) -> None:
        super().__init__(message)
        self.jvm_exception = jvm_exception


class ProtocolError(AssignorsError, ValueError):
    """Bytes of the consumer protocol that cannot be read or written."""


class DiffError(AssignorsError, ValueError):
    """Two groups whose members cannot be matched as asked, or a check that cannot be understood."""


class ScenarioError(AssignorsError, ValueError):
    """A scenario that cannot be simulated.

    Attributes:
        path: where in the scenario the fault is, `$.events[3].consumer`; None where it is at no one place.
    """

    def __init__(self, message: str, *, path: str | None = None) -> None:
        super().__init__(message)
        self.path = path

    def __str__(self) -> str:
        message = super().__str__()
        return message if self.path is None else f"{message} - at `{self.path}`"


class MigrationError(AssignorsError, ValueError):
    """Strategies that no client can be configured with."""


class SourceError(AssignorsError, ValueError):
    """A snapshot, capture or live group that cannot be read."""


class GroupNotFoundError(SourceError):
    """The cluster has no group of that name."""
