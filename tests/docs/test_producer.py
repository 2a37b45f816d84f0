"""The examples of docs/producer.md, as a reader would run them, and the defaults it tells."""

import re
from pathlib import Path

import pytest

from copartition.models import BatchingSettings, BrokerTimes, LibrdkafkaSettings, simulate_librdkafka
from copartition.models.command import batching
from tests.support.commands import printed

PAGE = Path(__file__).parents[2] / "docs" / "producer.md"
TEXT = PAGE.read_text(encoding="utf-8")
FILES = dict(re.findall(r"```text (\S+)\n(.*?)```", TEXT, re.DOTALL))
EXAMPLES = re.findall(r"```console\n\$ copartition (.*?)\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def _folder(tmp_path, monkeypatch):
    """A folder with the files of the page."""
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        Path(name).write_text(content)


@pytest.mark.heavy
@pytest.mark.parametrize(("arguments", "output"), EXAMPLES, ids=range(len(EXAMPLES)))
@pytest.mark.usefixtures("_folder")
def test_an_example_prints_what_the_page_says(arguments, output):
    assert printed(arguments) == output


def test_there_are_two_examples():
    assert TEXT.count("```console") == len(EXAMPLES) == 2


@pytest.mark.slow
@pytest.mark.parametrize("arguments", re.findall(r"^ +copartition (.+)$", batching.epilog, re.MULTILINE))
@pytest.mark.usefixtures("_folder")
def test_an_example_of_help_runs(arguments):
    assert printed(arguments)


@pytest.mark.heavy
def test_the_python_example_runs():
    (example,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(compile(example, str(PAGE), "exec"), {})  # its last line asserts


def test_defaults_are_those_of_the_models():
    java, librdkafka = BatchingSettings(), LibrdkafkaSettings()
    assert f"| `linger.ms` | {java.linger_ms:g} | {librdkafka.queue_buffering_max_ms:g} " in TEXT
    sizes = f"{java.batch_size:,} bytes | {librdkafka.batch_size:,} bytes"
    assert f"{sizes}, and `batch.num.messages` {librdkafka.batch_num_messages:,} |" in TEXT
    in_flight = [settings.max_in_flight_requests_per_connection for settings in (java, librdkafka)]
    assert "| {} | {:,} (5 with idempotence) |".format(*in_flight) in TEXT
    assert f"beyond {librdkafka.queue_buffering_max_messages:,} records" in TEXT


def test_so_many_records_of_512_bytes_go_as_the_page_says():
    result = simulate_librdkafka(
        [0.0] * 32,
        512,
        0,
        leaders=[0],
        brokers=[BrokerTimes()],
        settings=LibrdkafkaSettings(batch_size=16_384),
    )
    first, rest = result.records.tolist()
    assert (first + rest, f"only {first} of them leave, and one waits" in TEXT) == (32, True)
