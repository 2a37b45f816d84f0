"""The plug-in of the docs, installed as a user installs it."""

from pathlib import Path

import pytest

from tests.support.plugins import install, run


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install("example-plugin", tmp_path_factory.mktemp("plugin"))


def test_it_is_found_by_name(installed: Path) -> None:
    code = "from partitioning import get_partitioner; print(get_partitioner('jump').name)"
    assert run(installed, code) == "jump"


def test_it_is_listed_with_its_origin(installed: Path) -> None:
    code = (
        "from partitioning import list_partitioners;"
        "print(*(info.origin for info in list_partitioners() if info.name == 'jump'))"
    )
    assert run(installed, code).startswith("copartition-jump")


def test_it_keeps_the_rules_of_every_partitioner(installed: Path) -> None:
    code = (
        "from copartition_jump import JumpPartitioner;"
        "from partitioning.testing import check_partitioner;"
        "check_partitioner(JumpPartitioner); print('kept')"
    )
    assert run(installed, code) == "kept"


def test_growing_a_topic_moves_the_least_it_can(installed: Path) -> None:
    code = (
        "from partitioning import TopicLayout, get_partitioner;"
        "topic = get_partitioner('jump').for_topic('orders');"
        "keys = [b'user-%d' % i for i in range(20_000)];"
        "old, new = (topic.partition_batch(keys, TopicLayout(n)) for n in (12, 16));"
        "print((old != new).mean(), ((old != new) & (new < 12)).sum())"
    )
    share, among_old = run(installed, code).split()
    assert float(share) == pytest.approx(1 - 12 / 16, abs=0.01)
    assert among_old == "0"
