"""The hint for a name that does not exist."""

import pytest

from partitioning.kit.near import near

MANY = [f"topic-{number}" for number in range(30)]


@pytest.mark.parametrize(
    ("name", "names", "hint"),
    [
        ("lags", ["lag", "members"], "did you mean lag?"),
        ("bytes", ["lag", "members"], "there are lag, members"),
        (7, ["lag"], "there are lag"),
        ("lag", [], "there are none"),
        ("bytes", MANY, f"there are {', '.join(MANY[:20])} and 10 more"),
    ],
)
def test_near_names_or_those_that_there_are(name, names, hint):
    assert near(name, names) == hint
