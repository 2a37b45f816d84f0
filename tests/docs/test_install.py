"""One install line on every page and in every error, and a workflow that works in a clean folder."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest
import yaml
from confluent_kafka import Consumer

from partitioning.kit import packages
from tests.support.broker import Kafka
from tests.support.waiting import GENEROUS_S

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
INSTALL = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]["install"]
EXTRAS = {*PROJECT["project"]["optional-dependencies"]}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
[WORKFLOW] = re.findall(r"```yaml\n(on:.*?)```", (ROOT / "docs" / "ci-gate.md").read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_installs_what_the_project_says(page: Path) -> None:
    lines = re.findall(r"pip install ['\"]((?:copartition|\.)\[[^'\"@]*\])['\"]", page.read_text("utf-8"))
    for line in lines:
        name, extras = re.fullmatch(r"([^\[]+)\[(.*)\]", line).groups()
        assert name == INSTALL
        assert {*extras.split(",")} <= EXTRAS


class Noted:
    """A distribution with what pip has noted of where it came from."""

    def __init__(self, noted: object) -> None:
        self.noted = noted

    def read_text(self, name: str) -> str | None:
        """Return the note, if there is one."""
        assert name == "direct_url.json"
        return None if self.noted is None else json.dumps(self.noted)


@pytest.mark.parametrize(
    ("noted", "command"),
    [
        (None, "pip install 'copartition[cli]'"),
        ({"url": ROOT.as_uri(), "dir_info": {"editable": True}}, f"pip install '{ROOT}[cli]'"),
        ({"url": "file:///gone/a.whl", "archive_info": {}}, "pip install 'copartition[cli]'"),
        (
            {"url": "https://example.org/c.git", "vcs_info": {"vcs": "git", "commit_id": "1f2e"}},
            "pip install 'copartition[cli] @ git+https://example.org/c.git@1f2e'",
        ),
    ],
)
def test_an_error_installs_from_where_the_package_came(
    noted: object, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Noted(noted))
    assert packages.install_command("cli") == command


@pytest.fixture
def clean(tmp_path: Path) -> dict[str, str]:
    """The environment of a job: a new virtual environment, an empty folder, and a wheel to install.

    What the wheel depends on is found where the tests have it, so that nothing is fetched.
    """
    wheels, folder = tmp_path / "wheels", tmp_path / "job"
    folder.mkdir()
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", wheels, ROOT]
    subprocess.run(build, check=True, capture_output=True)
    [wheel] = wheels.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    [site] = tmp_path.glob("venv/lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    github = tmp_path / "venv" / "bin" / "gh"
    github.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > gh.txt\n')
    github.chmod(0o755)
    return {
        "PATH": f"{tmp_path / 'venv' / 'bin'}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PIP_NO_INDEX": "1",
        "COPARTITION": wheel.as_uri(),
        "PWD": str(folder),
    }


@pytest.mark.broker
@pytest.mark.slow
def test_the_workflow_runs_in_a_clean_folder(clean: dict[str, str], broker: Kafka) -> None:
    """Every step as it stands on the page; only the group has the name of one that is there."""
    topic = broker.create_topic(4)
    member = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": f"group-{topic}"})
    member.subscribe([topic])
    while not member.assignment():
        member.poll(1)
    steps = yaml.safe_load(WORKFLOW.replace("live:billing", f"live:group-{topic}"))["jobs"]["moves"]["steps"]
    given = clean | {
        "CLIENT_PROPERTIES": "client.id=gate\n",
        "KAFKA": broker.bootstrap_servers,
        "NUMBER": "7",
        "GITHUB_REPOSITORY": "us/billing",
    }
    try:
        for step in steps:
            # As the workflow does: the shell gets the variables that the step names, and no others.
            own = {name: given.get(name, "") for name in step.get("env", {})}
            own |= {name: given[name] for name in (*clean, "GITHUB_REPOSITORY") if name != "COPARTITION"}
            shell = ["bash", "-e", "-c", step["run"]]
            done = subprocess.run(
                shell,
                check=False,
                cwd=clean["PWD"],
                env=own,
                capture_output=True,
                text=True,
                timeout=GENEROUS_S,
            )
            assert done.returncode == 0, (step["run"], done.stdout, done.stderr)
    finally:
        member.close()
    told = Path(clean["PWD"], "gh.txt").read_text("utf-8").splitlines()
    assert told[:3] == ["pr", "comment", "7"]
    assert "partitions" in Path(clean["PWD"], "moves.md").read_text("utf-8")
