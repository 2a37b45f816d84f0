"""The plug-in of the docs, installed as a user installs it."""

import re
from pathlib import Path

import pytest

from tests.support.plugins import ROOT, install, run

pytestmark = pytest.mark.live

PAGE = ROOT / "docs" / "plugins.md"
PACKAGE = PAGE.parent / "example-plugin"


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


@pytest.mark.slow
def test_it_keeps_the_rules_of_every_partitioner(installed: Path) -> None:
    test = (PACKAGE / "test_jump.py").read_text()
    assert run(installed, f"{test}\ntest_jump_is_a_partitioner(); print('kept')") == "kept"
    assert test.partition('"""\n\n')[2] in PAGE.read_text()


def test_it_is_known_by_name_where_a_profile_is(installed: Path) -> None:
    code = (
        "from copartition.shell.main import copartition;"
        "from partitioning import get_partitioner, grow, partition_for_key;"
        "print(partition_for_key(b'order-42', 12, profile='jump'),"
        "      grow([b'user-%d' % i for i in range(2_000)], 12, 16, profile='jump').share < 0.3,"
        "      get_partitioner('sticky', keyed='jump').name);"
        "copartition(['partition', 'order-42', '-n', '12', '--profile', 'jump', '--width', '200'])"
    )
    told, heading, row = run(installed, code).splitlines()
    place, is_least, name = told.split()
    assert (is_least, name) == ("True", "jump")
    assert heading.split() == ["PROFILE", "'order-42'", "CLIENT"]
    assert row.split(maxsplit=2)[:2] == ["jump", place]
    assert row.endswith("no key counts as an empty one.")


@pytest.mark.slow
@pytest.mark.spark
def test_the_column_function_of_the_page_places_as_it_does(installed: Path) -> None:
    (snippet,) = re.findall(r"```python\n(import pandas.*?)```", PAGE.read_text(), re.DOTALL)
    code = f"""
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from partitioning import partition_for_key
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
df = spark.createDataFrame([(b"order-42",), (b"",), (None,), (b"key",)], "key binary")
{snippet}
for row in placed(df).collect():
    key = None if row.key is None else bytes(row.key)
    assert row.partition == partition_for_key(key, 12, profile="jump"), row
print("alike")
"""
    assert run(installed, code) == "alike"


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
