from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from confluent_kafka.admin import AdminClient

from copartition.shell.client_options import client_settings
from copartition.shell.main import copartition
from partitioning.clients.contact import quiet_client
from partitioning.errors import InvalidConfigError

SECRET = "hunter2"


@pytest.fixture(autouse=True)
def no_servers_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)


@pytest.mark.parametrize(
    ("server", "settings", "expected"),
    [
        (None, (), "from-environment:1"),
        ("given:2", (), "given:2"),
        (None, ("bootstrap.servers=set:3",), "set:3"),
    ],
)
def test_the_environment_names_the_cluster_where_nothing_else_does(
    monkeypatch: pytest.MonkeyPatch, server: str | None, settings: tuple[str, ...], expected: str
) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "from-environment:1")
    assert client_settings(server, settings, None)["bootstrap.servers"] == expected


def read(folder: Path, text: str | bytes) -> dict[str, str]:
    path = folder / "client.properties"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return client_settings(None, (), str(path))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sasl.password=hunter2", {"sasl.password": "hunter2"}),
        ("sasl.password: hunter2", {"sasl.password": "hunter2"}),
        ("sasl.password hunter2", {"sasl.password": "hunter2"}),
        ("  sasl.password\t=\thunter2", {"sasl.password": "hunter2"}),
        ("sasl.password = a=b:c d", {"sasl.password": "a=b:c d"}),
        ("sasl.password==x", {"sasl.password": "=x"}),
        ("a\\.b=d", {"a.b": "d"}),
        ("a.key=\\u00e9\\t\\\\", {"a.key": "é\t\\"}),
        ("a.key=one, \\\n   two\na.next=3", {"a.key": "one, two", "a.next": "3"}),
        ("a.key=one\\", {"a.key": "one"}),
        ("# ours\n! theirs\n\n  # indented\na.key=#1", {"a.key": "#1"}),
        ("a.key=1\r\na.key=2\r\n", {"a.key": "2"}),
        (b"\xef\xbb\xbfa.key=1", {"a.key": "1"}),
        ("a.key=\nan.other:", {"a.key": "", "an.other": ""}),
        ("a.key=a\u2028b", {"a.key": "a\u2028b"}),
        ("", {}),
    ],
)
def test_a_file_is_read_as_java_reads_properties(
    tmp_path: Path, text: str | bytes, expected: dict[str, str]
) -> None:
    assert read(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.key=1\n\nhunter2", "line 3 is not KEY=VALUE"),
        ("=hunter2", "line 1 is not KEY=VALUE"),
        (": hunter2", "line 1 is not KEY=VALUE"),
        ("hunter2 \\\n", "line 1 is not KEY=VALUE"),
        (b"key=hunter2\xff", "the file is not UTF-8 text"),
    ],
)
def test_a_line_that_is_no_setting_is_named_and_not_shown(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    with pytest.raises(click.BadParameter, match=message) as caught:
        read(tmp_path, text)
    assert SECRET not in caught.value.format_message()


@pytest.mark.parametrize("setting", ["sasl.password:hunter2", "=hunter2", "hunter2"])
def test_an_option_that_is_no_setting_is_named_and_not_shown(setting: str) -> None:
    with pytest.raises(click.BadParameter, match="number 2 is not KEY=VALUE") as caught:
        client_settings(None, ("a=b", setting), None)
    assert SECRET not in caught.value.format_message()


def test_an_option_wins_over_the_file_and_the_server_over_both(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("an.a=file\na.b=file\nbootstrap.servers=file\n")
    read_back = client_settings("server", ("a.b=option", "bootstrap.servers=option"), str(path))
    assert read_back == {"an.a": "file", "a.b": "option", "bootstrap.servers": "server"}


CLUSTERS = """
prod.bootstrap.servers=kafka:9092
prod.security.protocol=SSL
test.bootstrap.servers=localhost:9092
"""


@pytest.fixture
def clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / ".config" / "copartition" / "clusters.properties"
    path.parent.mkdir(parents=True)
    path.write_text(CLUSTERS)
    return path


@pytest.mark.usefixtures("clusters")
def test_a_cluster_is_named(tmp_path: Path) -> None:
    assert client_settings(None, (), None, "prod") == {
        "bootstrap.servers": "kafka:9092",
        "security.protocol": "SSL",
    }
    own = tmp_path / "client.properties"
    own.write_text("security.protocol=PLAINTEXT")
    assert client_settings("other:1", (), str(own), "prod") == {
        "bootstrap.servers": "other:1",
        "security.protocol": "PLAINTEXT",
    }


@pytest.mark.usefixtures("clusters")
def test_a_cluster_that_the_file_lacks_is_refused_with_those_it_has() -> None:
    with pytest.raises(click.BadParameter, match=r"has no line production.bootstrap.*: prod, test$"):
        client_settings(None, (), None, "production")


def test_a_cluster_without_a_file_names_the_file(clusters: Path) -> None:
    clusters.unlink()
    result = CliRunner().invoke(copartition, ["audit", "orders", "--cluster", "prod"])
    assert (result.exit_code, str(clusters) in result.stderr) == (2, True)


def test_a_line_of_the_file_that_is_no_setting_is_not_shown(clusters: Path) -> None:
    clusters.write_text(f"prod.bootstrap.servers\n{SECRET}")
    with pytest.raises(click.BadParameter, match="line 1") as caught:
        client_settings(None, (), None, "prod")
    assert (caught.value.param_hint, SECRET in str(caught.value)) == ("--cluster", False)


@pytest.mark.parametrize(
    "lines",
    [
        f'prod.sasl.jaas.config=ScramLoginModule required username="u"\n  password="{SECRET}";',
        f'prod.sasl.jaas.config=ScramLoginModule required password="begin\n{SECRET} end";',
        f"prod.sasl.password=begin\n{SECRET}=end",
        f"prod.sasl.password=begin\n{SECRET}.{SECRET}=end",
    ],
)
def test_a_value_that_goes_on_in_the_next_line_is_not_shown(clusters: Path, lines: str) -> None:
    clusters.write_text(lines)
    with pytest.raises(click.BadParameter) as caught:
        client_settings(None, (), None, "production")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "sasl.password=begin\nHunter2.hunter=end",
        "security.protocol=SSL ssl.key.password=hunter2",
        "sasl.mechanism=PLAIN\x07ssl.key.password: hunter2",
        "client.dns.lookup=hunter2!",
        "security.protocol=SASL_PLAINTEXT.Word9.hunter2",
        "security.protocol=SASL_PLAINTEXhunter2",
        'sasl.jaas.config=a.hunter2 required username="u" password="x";',
        "ssl.truststore.location=a\nssl.truststore.type=hunter2",
    ],
)
def test_neither_we_nor_librdkafka_show_a_part_of_a_password(tmp_path: Path, text: str) -> None:
    with pytest.raises((click.BadParameter, InvalidConfigError)) as caught:
        quiet_client(AdminClient, read(tmp_path, text), [])
    shown = (
        caught.value.format_message() if isinstance(caught.value, click.BadParameter) else str(caught.value)
    )
    assert SECRET not in shown.lower()


def test_a_name_that_is_misspelt_is_shown_and_so_is_a_value_out_of_a_choice(tmp_path: Path) -> None:
    for text in ("sasl.pasword=hunter2", "security.protocol=SASL_SLL"):
        with pytest.raises(InvalidConfigError, match=text.replace("=hunter2", "").rpartition("=")[2]):
            quiet_client(AdminClient, read(tmp_path, text), [])
