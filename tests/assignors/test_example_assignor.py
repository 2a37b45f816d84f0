"""The assignor of the docs, installed as a user installs it."""

from pathlib import Path

import pytest

from tests.support.plugins import install, run

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install("example-assignor", tmp_path_factory.mktemp("plugin"))


def test_it_is_found_by_name(installed: Path) -> None:
    code = "from assignors import get_assignor; print(get_assignor('in-turns').name)"
    assert run(installed, code) == "in-turns"


def test_it_is_listed_with_its_origin(installed: Path) -> None:
    code = (
        "from assignors import list_assignors;"
        "print(*(info.origin for info in list_assignors() if info.name == 'in-turns'))"
    )
    assert run(installed, code).startswith("copartition-in-turns")


def test_it_keeps_the_rules_of_every_assignor(installed: Path) -> None:
    code = (
        "from assignors import get_assignor;"
        "from assignors.testing import check_assignor;"
        "check_assignor(lambda: get_assignor('in-turns')); print('kept')"
    )
    assert run(installed, code) == "kept"
