"""`copartition partition`: where keys of any type go, from arguments or a file, and the forms of a key."""

import json

import pytest

from partitioning import partition_for_key, serialize_key
from tests.support.key_bytes import GOLDEN


def places(result):
    assert result.exit_code == 0, result.stderr
    return [row["partitions"]["java"] for row in json.loads(result.stdout)["keys"]]


@pytest.mark.parametrize(
    ("key", "key_type", "value"),
    [
        ("42", "long", 42),
        ("-7", "short", -7),
        ("0A1b2c3D-0000-4fff-8abc-0123456789AB", "uuid", "0a1b2c3d-0000-4fff-8abc-0123456789ab"),
        ("A", "json", "A"),
        ('{"id": 1}', "json", {"id": 1}),
        ("00ff", "hex", b"\0\xff"),
        ("AP8=", "base64", b"\0\xff"),
    ],
)
def test_a_key_is_serialized_as_its_type_says(run, key, key_type, value):
    result = run(
        "partition", "-n", "50", "--key-type", key_type, "--profile", "java", "-o", "json", "--", key
    )
    assert places(result) == [partition_for_key(serialize_key(value, key_type), 50)]


@pytest.mark.parametrize(("schema_id", "id_given"), [("7", 7), ("header", "header")])
@pytest.mark.parametrize(
    ("key_type", "file"), [("avro", "order.avsc"), ("protobuf", "order.desc"), ("jsonschema", None)]
)
def test_a_key_of_a_registry_has_its_id_before_it_or_in_a_header(run, key_type, file, schema_id, id_given):
    value = {"id": 7, "name": "a"}
    schema = {} if file is None else {"schema": (GOLDEN / file).read_bytes()}
    options = [] if file is None else ["--schema-file", GOLDEN / file]
    options += ["--key-type", key_type, "--schema-id", schema_id, "--profile", "java", "-o", "json"]
    found = places(run("partition", json.dumps(value), "-n", 50, *options))
    key = serialize_key(value, key_type, schema_id=id_given, **schema)
    assert found == [partition_for_key(key, 50)]


@pytest.mark.parametrize(
    ("content", "column", "key_type", "values"),
    [
        ("a\nb\n\n", None, "string", ["a", "b", ""]),
        ("a\r\nb", None, "string", ["a", "b"]),
        ('id,customer\n1,x\n2,"y,z"\n', "customer", "string", ["x", "y,z"]),
        ("id,customer\n1,x\n2,y\n", "id", "long", [1, 2]),
        ('{"id": 1}\n{"id": "2"}\n{"id": null}\n', "id", "long", [1, 2, None]),
        ('{"id": "42"}\n{"id": 42}\n', "id", "json", ["42", 42]),
    ],
)
def test_keys_come_from_lines_a_column_of_csv_or_a_field_of_ndjson(
    run, tmp_path, content, column, key_type, values
):
    path = tmp_path / "keys"
    path.write_bytes(content.encode())
    options = [] if column is None else ["--column", column]
    result = run("partition", "--keys", path, *options, "-n", 50, "--key-type", key_type, "-o", "json")
    assert places(result) == [partition_for_key(serialize_key(value, key_type), 50) for value in values]


def test_a_file_gives_a_line_for_each_key_with_the_profiles_asked_for(run, tmp_path):
    path = tmp_path / "keys"
    path.write_text("order-42\norder-43\n")
    options = ["--profile", "java", "--profile", "librdkafka"]
    result = run("partition", "--keys", path, "-n", 12, *options)
    expected = [
        "\t".join([key, *(str(partition_for_key(key.encode(), 12, profile=name)) for name in options[1::2])])
        for key in ("order-42", "order-43")
    ]
    assert result.stdout.splitlines() == ["key\tjava\tlibrdkafka", *expected]


def test_a_key_that_is_no_text_hides_no_clients_partition(run):
    result = run("partition", "7", "200", "-n", 12, "--key-type", "long", "-o", "json")
    text, binary = (row["partitions"] for row in json.loads(result.stdout)["keys"])
    assert [name for name, place in binary.items() if place is None and text[name] is not None] == [
        "pulsar-java"
    ]
    assert binary["java"] == partition_for_key((200).to_bytes(8), 12)


def test_a_client_of_texts_that_is_asked_for_says_that_a_key_is_none(run):
    result = run("partition", "200", "-n", 12, "--key-type", "long", "--profile", "pulsar-java")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "profile 'pulsar-java' hashes text: key in row 0 is not UTF-8" in result.stderr


def test_forms_that_are_no_text_have_no_partition_at_a_client_of_texts(run):
    result = run("partition", "200", "-n", 12, "--all-forms", "--profile", "pulsar-java", "-o", "json")
    places = {row["form"]: row["partitions"]["pulsar-java"] for row in json.loads(result.stdout)["forms"]}
    assert places["long"] is None
    assert places["string"] == partition_for_key(b"200", 12, profile="pulsar-java")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a\n", ["--column", "id"], "has no column 'id'; its first line names a"),
        ("a,b\n1\n", ["--column", "b"], "line 2: it ends before the column 'b'"),
        ('{"a": 1}\n{}\n', ["--column", "a"], "line 2: no field 'a'"),
        ('{"a": 1}\n7\n', ["--column", "a"], "line 2: no JSON object"),
        ('{"a": ' + "[" * 100_000, ["--column", "a"], "line 1: no JSON object"),
        ("7\nx\n", ["--key-type", "long"], "key 2: 'x' is no integer"),
    ],
)
def test_a_line_that_is_no_key_is_named(run, tmp_path, content, options, message):
    path = tmp_path / "keys"
    path.write_text(content)
    result = run("partition", "--keys", path, "-n", 12, *options)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give each KEY as an argument, or a file of them with --keys"),
        (["a", "--keys", "-"], "give each KEY as an argument"),
        (["a", "--column", "b"], "--column is for --keys"),
        (["a", "--schema-id", "x"], "'x' is neither a number nor header"),
        (["a", "--schema-id", "7"], "string keys have no schema id"),
        (
            ["a", "--key-type", "avro", "--schema-id", "7", "--schema-file", "/nowhere"],
            "cannot read /nowhere",
        ),
        (["a", "--all-forms", "--key-type", "long"], "--all-forms tries every type"),
        (["--keys", "/nowhere"], "cannot read /nowhere"),
    ],
)
def test_options_that_do_not_go_together_are_refused(run, arguments, message):
    result = run("partition", *arguments, "-n", 12)
    assert result.exit_code == 2
    assert message in result.stderr


def test_all_forms_show_the_quotes_that_a_json_converter_writes(run):
    result = run("partition", "A", "-n", 12, "--all-forms", "-o", "json")
    forms = {row["form"]: row for row in json.loads(result.stdout)["forms"]}
    assert forms["json, a string"] == {
        "key": "A",
        "form": "json, a string",
        "bytes": b'"A"'.hex(),
        "partitions": {"java": partition_for_key(b'"A"', 12)},
    }
    shown = run("partition", "A", "-n", 12, "--all-forms", "--profile", "librdkafka").stdout
    assert "json, a string" in shown
    assert "224122" in shown


def keys_of(run, path, *options):
    result = run("partition", "--keys", str(path), "-n", "12", "-o", "json", *options)
    assert result.exit_code == 0, result.output
    return [row["key"] for row in json.loads(result.stdout)["keys"]]


@pytest.mark.parametrize(
    ("content", "options", "keys"),
    [
        ("id,name\n1,foo\u2028bar\n2,x\x0by\n", ["--column", "id"], ["1", "2"]),
        ("\ufefforder-1\norder-2\n", [], ["order-1", "order-2"]),
        ("\ufeffid\n7\n", ["--column", "id"], ["7"]),
        ('\ufeff{"id": "7"}\n', ["--column", "id"], ["7"]),
    ],
)
def test_a_file_has_the_keys_that_stand_in_it_and_no_other(run, tmp_path, content, options, keys):
    (path := tmp_path / "keys").write_text(content, encoding="utf-8", newline="")
    assert keys_of(run, path, *options) == keys


def test_a_cell_without_an_end_is_refused(run, tmp_path):
    (path := tmp_path / "keys.csv").write_text('id\n"' + "x" * 200_000)
    result = run("partition", "--keys", str(path), "-n", "12", "--column", "id")
    assert (result.exit_code, "no CSV" in result.stderr) == (2, True)


def test_a_profile_named_twice_has_one_column(run, tmp_path):
    (path := tmp_path / "keys").write_text("a\n")
    names = ["--profile", "java", "--profile", "kafka-streams", "--profile", "librdkafka"]
    assert (
        run("partition", "--keys", str(path), "-n", "12", *names).stdout.splitlines()[0]
        == "key\tjava\tlibrdkafka"
    )


def test_a_null_key_has_no_form(run, tmp_path):
    (path := tmp_path / "keys").write_text('{"k": null}\n{"k": "a"}\n')
    forms = json.loads(
        run("partition", "--keys", str(path), "-n", "12", "--column", "k", "--all-forms", "-o", "json").stdout
    )
    assert {form["key"] for form in forms["forms"]} == {"a"}
