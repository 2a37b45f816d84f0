"""What `copartition migrate` decides by is what became of real groups that `benchmarks/migrations` walked."""

from __future__ import annotations

import json

import pytest

from benchmarks.migrations.__main__ import MEASURED, PAGE, TABLE
from benchmarks.migrations.page import page
from benchmarks.migrations.table import table
from benchmarks.migrations.walks import all_walks

measured = json.loads(MEASURED.read_text())


def test_the_table_is_what_was_measured() -> None:
    assert TABLE.read_text() == table(measured)


def test_the_page_is_what_was_measured() -> None:
    assert PAGE.read_text() == page(measured)


@pytest.mark.parametrize("kafka", sorted({way.kafka for way in all_walks()}))
def test_every_way_was_walked(kafka: str) -> None:
    assert [way.name for way in all_walks() if way.kafka == kafka and way.name not in measured] == []


def test_a_fault_took_nobody_but_the_members_that_were_replaced() -> None:
    faults = [walked for walked in measured.values() if walked["fault"] is not None]
    assert [walked for walked in faults if "shared all partitions" not in walked["others"]] == []
