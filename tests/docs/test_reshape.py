"""The walk of docs/reshape.md, taken step by step on a broker of its own, with Spark."""

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from confluent_kafka.admin import AdminClient, NewTopic

from copartition.reshape.command import reshape
from copartition.shell.main import copartition
from tests.spark_integration.conftest import spark  # noqa: F401 - a fixture

TEXT = (Path(__file__).parents[2] / "docs" / "reshape.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(python|console)\n(.*?)```", TEXT, re.DOTALL)
TIMES = re.compile(r"(?:\d+ h )?(?:\d+ min )?\d[\d,.]* m?s\b|\d[\d,]*(?= a second)")
"""How long a step takes, and how many records a second it makes: that of another machine is another."""
HERE = "localhost:9092"


def commands() -> list[tuple[str, str]]:
    """Each command of the page, and what the page shows of its output."""
    shown = [block for language, block in BLOCKS if language == "console"]
    return [
        found
        for block in shown
        for found in re.findall(r"^\$ ([^\n]*)\n(.*?)(?=^\$ |\Z)", block, re.DOTALL | re.MULTILINE)
    ]


def take(command: str, servers: str) -> str:
    """What a command of the page prints on this cluster, as if it were the page's own."""
    name, *arguments = shlex.split(command.replace(HERE, servers))
    if name == "kafka-topics.sh":
        options = dict(pairwise(arguments))
        topic = NewTopic(options["--topic"], int(options["--partitions"]), 1)
        admin = AdminClient({"bootstrap.servers": servers})
        admin.create_topics([topic])[topic.topic].result()
        return f"Created topic {topic.topic}.\n"
    printed = CliRunner().invoke(copartition, arguments, prog_name=name).output
    return "".join(f"{line.rstrip()}\n" for line in printed.replace(servers, HERE).splitlines())


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.broker
def test_the_walk_prints_what_the_page_shows(spark, tmp_path, monkeypatch) -> None:  # noqa: F811 - the fixture
    from tests.support.broker import Broker

    if not hasattr(spark, "dataSource"):
        pytest.fail("the page is for Spark 4.0 and newer")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("copartition.reshape.ways.LOOK_S", 0.0)
    # Topics and groups have the page's names, so that nobody else's may be there.
    with Broker() as broker:
        [example] = [block for language, block in BLOCKS if language == "python"]
        exec(compile(example.replace(HERE, broker.bootstrap_servers), "reshape.md", "exec"), {})
        printed = [(command, take(command, broker.bootstrap_servers)) for command, _ in commands()]
    for (command, shown), (_, found) in zip(commands(), printed, strict=True):
        assert TIMES.sub("N", found) == TIMES.sub("N", shown), command


def test_every_step_is_told() -> None:
    options = {name for option in reshape.params for name in option.opts if name.startswith("--")}
    told = {*re.findall(r"--[a-z-]+", TEXT)}
    assert {"--copy", "--switch", "--prove", "--back", "--execute", "--group", "--full"} <= told & options
