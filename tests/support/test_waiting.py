"""A wait ends with what it waits for, or says that it never happened."""

import pytest

from tests.support import waiting
from tests.support.waiting import wait_until


def test_what_makes_it_happen_is_called_until_it_has_happened():
    polled = []
    wait_until(lambda: len(polled) == 3, lambda: polled.append("poll"))
    assert len(polled) == 3


def test_what_never_happens_ends_with_the_last_answer(monkeypatch):
    monkeypatch.setattr(waiting, "GENEROUS_S", 0.0)
    with pytest.raises(TimeoutError, match=r"it did not happen within 0 s; the last answer is \[\]"):
        wait_until(list, lambda: None)
