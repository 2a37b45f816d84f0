"""What consumers remember of their assignors, and send."""

import pytest

from assignors import PartitionList
from assignors.clients.memory import Memory


@pytest.mark.parametrize(
    ("ours", "of_the_jvm"), [("optimal", "sticky"), ("cooperative-optimal", "cooperative-sticky")]
)
def test_ours_remember_in_the_form_of_the_jvm(ours, of_the_jvm):
    sent = []
    for name in (ours, of_the_jvm):
        memory = Memory(name)
        memory.remember(PartitionList.of([("t", 3), ("u", 0)]), 7)
        sent.append(memory.user_data)
    assert sent[0] == sent[1] is not None
