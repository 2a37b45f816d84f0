"""`copartition model batching`."""

import pytest

from copartition.models.command import batching
from tests.support.commands import invoker, json_of

RATE = ["--rate", "2000", "--value-bytes", "512", "--partitions", "12", "--limit", "20"]
HEAD = "time_ms,value_bytes,key\n"
invoke = invoker(batching)
RECORDS = HEAD + "".join(f"{1000 + number},100,user-{number % 9}\n" for number in range(150))


def read(*arguments):
    return json_of(invoke, *arguments)


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "stream.csv"
        path.write_text(text)
        return path

    return write


@pytest.mark.heavy
def test_text_says_what_to_set_for_each_client():
    lines = invoke(*RATE).stdout.splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["java:", "librdkafka:"]
    assert all("should keep p99 under 20 ms with the fewest requests" in line for line in lines[:2])
    assert (
        sum(line.endswith("best") for line in lines) == sum(line.endswith("default") for line in lines) == 2
    )
    assert any("assumed: 4,000 records come by chance" in line for line in lines)


@pytest.mark.heavy
def test_json_has_every_trial():
    values = read(*RATE, "--client", "librdkafka")
    (client,) = values["clients"]
    assert (values["limit_ms"], values["percentile"], client["client"]) == (20, 99, "librdkafka")
    assert client["best"] in client["trials"]
    assert client["default"]["linger_ms"] == 5


@pytest.mark.slow
def test_keys_spread_the_records_over_partitions():
    with_keys, without = (
        read(*RATE, "--client", "librdkafka", *more)["clients"][0]["best"]["requests"]
        for more in (["--key-bytes", 8], [])
    )
    assert with_keys > 3 * without


@pytest.mark.heavy
def test_nothing_keeps_what_cannot_be_kept():
    result = invoke(*RATE, "--limit", "2", "--round-trip", "5", "--client", "java")
    assert "nothing that was tried keeps p99 under 2 ms; linger.ms=" in result.stdout


def test_a_recorded_stream_goes_where_each_client_puts_its_keys(file):
    values = read("--stream", file(RECORDS), "--partitions", 6, "--limit", 10)
    assert len(values["assumed"]) == 1
    java, librdkafka = (client["best"]["requests"] for client in values["clients"])
    assert librdkafka > java  # a request a partition, not one a broker


def test_recorded_partitions_are_kept(file):
    rows = "".join(f"{number},100,{number % 2}\n" for number in range(150))
    stream = file("time_ms,value_bytes,partition\n" + rows)
    (client,) = read("--stream", stream, "--partitions", 2, "--limit", 10, "--client", "librdkafka")[
        "clients"
    ]
    (lingering,) = (trial for trial in client["trials"] if trial["linger_ms"] == 7)
    assert lingering["requests"] == pytest.approx(2 * 150 / 8, abs=2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--partitions", 1, "--limit", 9], "--rate or with --stream"),
        (["--rate", 9, "--partitions", 1, "--limit", 9], "--rate needs --value-bytes"),
        (
            ["--rate", "nan", "--value-bytes", 1, "--partitions", 1, "--limit", 9],
            "nan is not a finite number",
        ),
        (["--rate", 1e308, "--value-bytes", 1, "--partitions", 1, "--limit", 9], "--rate"),
        (["--rate", 9, "--value-bytes", 1, "--partitions", 1, "--limit", "inf"], "inf is not"),
        (
            ["--rate", 9, "--value-bytes", 1, "--partitions", 1, "--limit", "1e308"],
            "1e+308 is not in the range 0<x<=2147483647",
        ),
        (["--rate", 9, "--value-bytes", 1, "--partitions", 2**31 - 1, "--limit", 9], "--partitions"),
        (["--rate", 1e9, "--value-bytes", 1, "--partitions", 1, "--limit", 9], "200,000 can be simulated"),
    ],
)
def test_records_that_are_not_given(arguments, words):
    result = invoke(*arguments)
    assert (result.exit_code, words in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "needs the columns time_ms and value_bytes"),
        ("time_ms,key\n1,a\n", "needs the columns time_ms and value_bytes"),
        (HEAD, "has no records"),
        ("time_ms,value_bytes,key,partition\n1,1,a,1\n", "both key and partition"),
        (HEAD + "1,5,a\nnoon,5,a\n", "row 3 has time_ms 'noon'"),
        (HEAD + "1,5,a\n2,,a\n", "row 3 has value_bytes ''"),
        ("time_ms,value_bytes\n1,5\n2\n", "row 3 has value_bytes None"),
        (HEAD + "1,5\n", "row 2 has no key"),
        (HEAD + "2,5,a\n1,5,a\n", "row 3 is earlier than the one before"),
        ("time_ms,value_bytes,partition\n1,5,9\n", "partition 9, but the topic has 2"),
        ("time_ms,value_bytes,partition\n1,5,0.5\n", "row 2 has partition '0.5'"),
    ],
)
def test_a_stream_that_cannot_be_read(file, text, words):
    result = invoke("--stream", file(text), "--partitions", 2, "--limit", 9)
    assert result.exit_code == 2
    assert words in result.stderr


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "stream.csv"
    path.write_bytes(b"time_ms,value_bytes\n\xff\xfe\n")
    result = invoke("--stream", path, "--partitions", 2, "--limit", 9)
    assert (result.exit_code, "is not UTF-8 text" in result.stderr) == (2, True)
