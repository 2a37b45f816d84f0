"""What a classic group can be doing."""

from enum import Enum, auto


class State(Enum):
    """What a classic group is doing."""

    EMPTY = auto()
    STABLE = auto()
    PREPARING = auto()
    """Waiting at the join barrier."""
    COMPLETING = auto()
    """Waiting for the leader's assignor."""
