"""What outlives a task in a worker, whose code travels by value."""

import os
import pickle
import sys

import pytest
from pyspark import cloudpickle

from spark_integration.shipping import send_by_value
from spark_integration.sinks import process_store as module
from spark_integration.sinks.process_store import HOME, process_store


@pytest.fixture(autouse=True)
def empty_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, HOME, raising=False)
    yield
    sys.modules.pop(HOME, None)


def test_each_task_has_a_copy_of_the_code_and_all_have_one_store() -> None:
    send_by_value(module.__name__)
    first, second = (pickle.loads(cloudpickle.dumps(process_store)) for _ in range(2))
    assert first is not second
    assert first("clients") is second("clients")
    assert first("clients") is not first("others")


def test_a_forked_process_has_nothing_of_its_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    process_store("clients")["a"] = "with threads that a fork leaves behind"
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert process_store("clients") == {}
