"""Each lab agrees with a real broker, in its short form; every night as a user runs it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from examples.labs.__main__ import NAMES, about, load
from examples.labs.kit import Between, Lab
from examples.labs.kit.cluster import Cluster, cluster
from examples.labs.kit.segments import Batch, _drop_aborted
from tests.support.tiers import sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.broker import Kafka

ROOT = Path(__file__).parents[2]
LABS = ROOT / "examples" / "labs"
PAGE = (ROOT / "docs" / "labs.md").read_text()
PROXIED = [
    name for name in NAMES if "\nPROXIED = True" in (LABS / f"{name.replace('-', '_')}.py").read_text()
]


@pytest.fixture(scope="module")
def proxied() -> Iterator[Cluster]:
    with cluster(proxied=True) as own:
        yield own


@pytest.mark.sampled
@pytest.mark.parametrize("name", sample([name for name in NAMES if name not in PROXIED], before_ci=4))
def test_a_lab_agrees_with_the_broker(name: str, broker: Kafka) -> None:
    assert_agrees(name, Lab(Cluster(broker), short=True))


@pytest.mark.jvm
@pytest.mark.slow
@pytest.mark.parametrize("name", PROXIED)
def test_a_lab_of_faults_agrees_with_the_broker(name: str, proxied: Cluster) -> None:
    assert_agrees(name, Lab(proxied, short=True))


@pytest.mark.nightly
@pytest.mark.jvm
@pytest.mark.parametrize("name", NAMES)
def test_a_lab_as_a_user_runs_it_agrees_with_the_broker(name: str) -> None:
    module = load(name)
    with cluster(getattr(module, "NODES", 1), proxied=getattr(module, "PROXIED", False)) as own:
        assert_agrees(name, Lab(own))


def assert_agrees(name: str, lab: Lab) -> None:
    load(name).run(lab)
    assert lab.agrees, [row for row in lab.rows() if not row[3]]
    assert lab.picture
    assert len(lab.picture.svg()) < 30_000


@pytest.mark.parametrize("name", NAMES)
def test_a_lab_is_short_and_has_its_section_and_picture(name: str) -> None:
    source = (LABS / f"{name.replace('-', '_')}.py").read_text()
    assert len(source.splitlines()) <= 150
    assert about(name).endswith(".")
    section = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section
    assert f"python -m examples.labs {name}" in section[1]
    assert f"](labs/{name}.svg)" in section[1]
    assert (ROOT / "docs" / "labs" / f"{name}.svg").stat().st_size < 30_000


def lab() -> Lab:
    return Lab(Cluster(None))  # type: ignore[arg-type]


def test_what_came_as_predicted_agrees() -> None:
    one = lab()
    one.predict({"records": 3, "wait": Between(2, 5, " s")})
    one.saw("records", 3)
    one.saw("wait", 2.0)
    assert one.agrees


@pytest.mark.parametrize("seen", [{"records": 4, "wait": 2.0}, {"records": 3, "wait": 5.1}, {"records": 3}])
def test_what_differs_or_was_not_looked_at_does_not_agree(seen: dict[str, float]) -> None:
    one = lab()
    one.predict({"records": 3, "wait": Between(2, 5)})
    for what, value in seen.items():
        one.saw(what, value)
    assert not one.agrees


def test_a_lab_that_predicted_nothing_does_not_agree() -> None:
    assert not lab().agrees


def test_only_what_was_predicted_can_be_seen() -> None:
    with pytest.raises(KeyError, match="predict first"):
        lab().saw("records", 3)


def test_readers_of_committed_records_drop_an_aborted_transaction_up_to_its_marker() -> None:
    def batch(offset: int, producer: int, control: str = "") -> Batch:
        return Batch(offset, producer, 0, 0, True, control, [])

    log = [batch(0, 1), batch(1, 2), batch(2, 1), batch(3, 1, "ABORT"), batch(4, 2, "COMMIT"), batch(5, 1)]
    assert [kept.offset for kept in _drop_aborted(log, {(1, 0)})] == [1, 3, 4, 5]
