"""Files of weights, and rates that members send in their user data."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from assignors import Group, Member, Topic, get_assignor
from assignors.weighted.weights import read_measured, with_rates
from tools.fuzz.mutation import mutate

if TYPE_CHECKING:
    from random import Random

FILES = {
    "weights.json": b'{"orders": 1.5, "pay": [1, 2, 0], "clicks": {"0": 3, "2": 4e2}}',
    "weights.yaml": b"orders: 1.5\npay: [1, 2, 0]\nclicks: {0: 3, 2: 4.0e+2}\n",
    "weights.csv": b"topic,partition,weight\norders,,1.5\npay,0,1\npay,1,2\nclicks,2,400\n",
}
TOPICS = [Topic("orders", 4), Topic("pay", 3), Topic("clicks", 3)]
RATES = {("orders", 0): 1.5, ("orders", 3): 2e9, ("pay", 1): 0.0}
BEFORE = [b"", b"own", b"\0" * 9]
FOLDER = TemporaryDirectory(prefix="copartition-weights-")


def make_file(rng: Random) -> tuple[str, bytes, str]:
    name = rng.choice([*FILES])
    content = mutate(rng, FILES[name]) if rng.random() < 0.8 else FILES[name]
    return name, content, rng.choice(["weighted", "cooperative-weighted"])


def check_file(case: tuple[str, bytes, str]) -> None:
    name, content, assignor = case
    path = Path(FOLDER.name, name)
    path.write_bytes(content)
    members = [Member(name, [topic.name for topic in TOPICS], rack=name) for name in "ab"]
    assignment = get_assignor(assignor, weights=path).assign(Group(TOPICS, members))
    assert not assignment.unassigned


def make_rates(rng: Random) -> list[bytes]:
    """What members sent, sound or damaged."""
    sent = [with_rates(rng.choice(BEFORE), RATES) or b"" for _ in range(rng.randrange(1, 4))]
    return [mutate(rng, data) if rng.random() < 0.7 else data for data in sent]


def check_rates(case: list[bytes]) -> None:
    members = [Member(str(number), ["orders", "pay"], user_data=data) for number, data in enumerate(case)]
    measured = read_measured(members)
    assert all(0 <= rate < float("inf") for rate in measured.rates.values())
    assignment = get_assignor("weighted").assign(Group(TOPICS[:2], members))
    assert not assignment.unassigned


TARGETS = {"weights-files": (make_file, check_file), "rates": (make_rates, check_rates)}
