"""What tables say of the machine and of chance."""

import pytest

from benchmarks.measured import machine, spread


def test_the_caches_of_a_core_are_named_as_the_machine_tells_them(tmp_path):
    for index, cache in enumerate(
        [("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "2048K")]
    ):
        (folder := tmp_path / f"index{index}").mkdir()
        for name, text in zip(("level", "type", "size"), cache, strict=True):
            (folder / name).write_text(f"{text}\n")
    assert machine(tmp_path).endswith("cores, caches L1 48K, L2 2048K")


def test_a_machine_that_tells_nothing_has_unknown_caches(tmp_path):
    assert machine(tmp_path).endswith("caches unknown")


@pytest.mark.parametrize(
    ("times", "differ"), [([1, 2, 1, 3], 0.0), ([2.2, 3, 2, 4], 0.1), ([2, 3, 2.2, 4], 0.1)]
)
def test_the_spread_is_that_of_the_best_of_two_halves(times, differ):
    assert spread(times) == pytest.approx(differ)
