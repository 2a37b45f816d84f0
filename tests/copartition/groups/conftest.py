"""Members of real groups."""

import pytest

from tests.copartition.groups.worker import starting


@pytest.fixture
def workers(broker):
    """Starts members of a group, as `starting` does."""
    with starting(broker) as start:
        yield start
