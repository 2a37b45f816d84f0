"""What can go wrong when two assignments are compared."""

from assignors.errors import AssignorsError


class DiffError(AssignorsError, ValueError):
    """Two groups whose members cannot be matched as asked, or a check that cannot be understood."""
