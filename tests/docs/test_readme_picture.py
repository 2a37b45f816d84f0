"""The first picture of the README says what the README says of it, and speaks for its advice."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LABEL = re.search(
    r'aria-label="([^"]*)"', (ROOT / "docs" / "rolling-restart.svg").read_text(encoding="utf-8")
)[1]
SAID = re.search(
    r"!\[([^\]]*)\]\(docs/rolling-restart.svg\)", (ROOT / "README.md").read_text(encoding="utf-8")
)[1]


def test_cooperative_sticky_costs_less_than_range_and_the_text_has_the_figures():
    costs = {
        strategy: float(seconds.replace(",", ""))
        for strategy, seconds in re.findall(
            r"([a-z-]+), dynamic members: .*?, ([\d,.]+) partition-seconds", LABEL
        )
    }
    assert costs["cooperative-sticky"] < costs["range"]
    assert re.findall(r"([\d,]+) partition-seconds", SAID) == [
        f"{costs[strategy]:,.0f}" for strategy in ("range", "cooperative-sticky")
    ]
