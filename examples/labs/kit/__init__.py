"""What the labs share: a cluster, a lab's own record of what it predicted and saw, segments, pictures."""

from examples.labs.kit.lab import Between, Lab
from examples.labs.kit.picture import Picture

__all__ = ["Between", "Lab", "Picture"]
