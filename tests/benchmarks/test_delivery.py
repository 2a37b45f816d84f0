"""The saved runs of real producers and brokers, beside what the models say today."""

import json
from functools import cache

import pytest

from benchmarks.delivery import brokers_down, cells, transactions
from benchmarks.delivery.__main__ import MEASURED, PAGE
from benchmarks.delivery.page import page, saved_result

MODULES = {module.__name__: module for module in (cells, brokers_down)}


@cache
def measured():
    return json.loads(MEASURED.read_text())


@pytest.mark.parametrize("module", MODULES.values(), ids=["requests", "brokers"])
def test_every_cell_has_the_classes_that_the_model_says(module):
    differing = [
        (cell, model, real)
        for cell in module.cells()
        for model, real in [
            (cells.classes(module.predict(cell)), cells.classes(saved_result(measured(), cell)))
        ]
        if model.keys() != real.keys()
    ]
    assert differing == []


@pytest.mark.parametrize("name", transactions.CELLS)
def test_a_transaction_stands_as_long_as_the_model_says(name):
    (row,) = (row for row in measured() if row.get("transaction") == name)
    model = transactions.predict(name)
    assert row["aborted"] == model["aborted"]
    assert 0 <= row["open_s"] - (model["open_s"] or 0) < 2


def test_the_page_is_what_was_measured():
    assert PAGE.read_text() == page(measured())
