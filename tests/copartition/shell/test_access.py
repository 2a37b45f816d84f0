"""The commands and a cluster with TLS and SCRAM: who may only read reads, and no secret is ever shown."""

import logging

import pytest

from copartition.assignment_diff import WhatIf, plan
from copartition.groups import read_live
from copartition.shell.client_options import librdkafka_settings
from tests.support.encrypted import SECRETS
from tests.support.tiers import sample

pytestmark = pytest.mark.broker
TROUBLE = 2


def as_file(settings, folder):
    """Settings as Java's clients have them, in a file."""
    path = folder / "client.properties"
    path.write_text("\n".join(f"{name}={value}" for name, value in settings.items()))
    return ["--command-config", path]


def as_options(settings, _):
    """The same in librdkafka's words, one -X each."""
    named = librdkafka_settings(settings)
    return [argument for name, value in named.items() for argument in ("-X", f"{name}={value}")]


COMMANDS = {
    "audit": ["audit", "TOPIC"],
    "watch": ["watch", "GROUP", "--count", "1", "--record", "FOLDER/night.ndjson"],
    "snapshot": ["snapshot", "live:GROUP", "--out", "FOLDER/group.json"],
    "diff": [
        "diff",
        "live:GROUP",
        "plan:range",
        "--add-members",
        "2",
        "--out",
        "FOLDER/plan.json",
        "-o",
        "json",
    ],
}


def command(name, encrypted, folder):
    """A command that only reads a cluster."""
    words = {"TOPIC": encrypted.topic, "GROUP": encrypted.group, "FOLDER": str(folder)}
    parts = COMMANDS[name]
    for word, meant in words.items():
        parts = [part.replace(word, meant) for part in parts]
    return parts


def could_read(result):
    """Whether a command read its cluster; an audit of few records cannot tell, which is 2, too."""
    return result.exit_code != TROUBLE or "cannot tell" in result.stdout


@pytest.mark.sampled
@pytest.mark.parametrize("spelled", [as_file, as_options])
@pytest.mark.parametrize("name", sample([*COMMANDS], before_ci=2))
def test_who_may_only_read_reads(run, encrypted, tmp_path, name, spelled):
    settings = spelled(encrypted.user("reader"), tmp_path)
    result = run(*command(name, encrypted, tmp_path), *settings)
    assert could_read(result), result.stderr


@pytest.mark.parametrize("name", ["audit", "watch"])
@pytest.mark.parametrize(
    ("listener", "change", "fault"),
    [
        ("expired", {}, "certificate has expired"),
        ("valid", {"security.protocol": "PLAINTEXT"}, "security.protocol"),
        ("plain", {"security.protocol": "SSL"}, "PLAINTEXT broker listener"),
    ],
)
def test_what_does_not_fit_in_tls_is_named(run, encrypted, tmp_path, name, listener, change, fault):
    settings = as_file(encrypted.listeners[listener] | change, tmp_path)
    result = run(*command(name, encrypted, tmp_path), *settings)
    assert (result.exit_code, fault in result.stderr) == (TROUBLE, True), result.stderr


@pytest.mark.parametrize(
    ("name", "user", "right"),
    [("audit", "writer", "needs READ on the topic"), ("watch", "writer", "needs DESCRIBE on the group")],
)
def test_a_right_that_is_missing_is_named(run, encrypted, tmp_path, name, user, right):
    result = run(*command(name, encrypted, tmp_path), *as_file(encrypted.user(user), tmp_path))
    assert (result.exit_code, right in result.stderr) == (TROUBLE, True), result.stderr


@pytest.mark.sampled
@pytest.mark.parametrize("spelled", [as_file, as_options])
@pytest.mark.parametrize("user", ["reader", "nobody"])
@pytest.mark.parametrize("name", sample([*COMMANDS], before_ci=2))
def test_no_secret_is_shown_or_kept(run, encrypted, tmp_path, capfd, caplog, name, user, spelled):
    """Where the password is right, and where it is wrong."""
    secret = SECRETS.get(user, "a-word-that-lets-nobody-in")
    settings = spelled(encrypted.user(user, secret), tmp_path)
    with caplog.at_level(logging.DEBUG):
        result = run(*command(name, encrypted, tmp_path), *settings, "-v")
    assert could_read(result) == (user == "reader")
    (tmp_path / "client.properties").unlink(missing_ok=True)
    kept = [path.read_text() for path in tmp_path.iterdir()]
    assert (user == "nobody") or name == "audit" or kept
    said = [result.output, result.stderr, str(result.exception), *capfd.readouterr(), caplog.text, *kept]
    assert [text for text in said if secret in text] == []


def test_no_secret_is_in_a_state_or_its_plan(encrypted):
    state, _ = read_live(encrypted.group, librdkafka_settings(encrypted.user("reader")))
    planned = plan(state, "range", WhatIf(add_members=2))
    assert SECRETS["reader"] not in repr((state, planned))
