"""A process that asks for us, and how it ends."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from copartition.kit import child as module
from copartition.kit.child import AdminError, Child, ChildEndedError
from partitioning.errors import BrokerUnreachableError, InvalidConfigError
from tests.support.waiting import wait_until

pytestmark = pytest.mark.live

ADMIN = """
import os, time
from confluent_kafka import KafkaError, KafkaException

class Admin:
    def __init__(self, config, timeout_s):
        self.config = config
    def echo(self, *arguments):
        print("not an answer")
        return arguments
    def process(self):
        return os.getpid()
    def settings(self):
        return self.config
    def die(self):
        os.write(2, b"first line\\nAssertion `eonce->refcnt > 0' failed.\\n")
        os.abort()
    def refuse(self):
        raise KafkaException(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED, "no"))
    def fail(self):
        raise ZeroDivisionError("division by zero")
    def sleep(self):
        time.sleep(600)
"""


@pytest.fixture
def child(monkeypatch, tmp_path):
    """One that asks an invented admin client, which stands in the place of the real one."""
    (tmp_path / "admin.py").write_text(ADMIN)
    before = f"import copartition.kit; copartition.kit.__path__.insert(0, {str(tmp_path)!r}); import {{name}}"
    monkeypatch.setattr(module, "_PROGRAM", module._PROGRAM.replace("import {name}", before))
    made = Child({"sasl.password": "hunter2"}, 10)
    yield made
    made.end()


def is_there(process):
    """Whether there is such a process."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until_gone(process):
    wait_until(lambda: not is_there(process))


def test_one_process_answers_all_questions_whatever_else_it_prints(child):
    assert child.ask("echo", "a", [1]) == ("a", [1])
    assert child.ask("process") == child.ask("process") != os.getpid()


def test_a_process_that_dies_is_an_error_with_its_last_words_and_replaced(child):
    first = child.ask("process")
    with pytest.raises(ChildEndedError, match="ended with signal 6: Assertion `eonce->refcnt > 0' failed"):
        child.ask("die")
    assert child.ask("process") != first
    assert not is_there(first)


def test_an_answer_that_does_not_come_ends_the_process(child, monkeypatch):
    first = child.ask("process")
    monkeypatch.setattr(module, "_SLACK_S", -9.9)
    with pytest.raises(ChildEndedError, match=r"no answer within 0\.1 s"):
        child.ask("sleep")
    assert not is_there(first)


@pytest.fixture
def ctrl_c():
    """Ctrl-C raises KeyboardInterrupt, even if the shell started these tests in the background.

    A shell without job control has such a command ignore SIGINT, and Python leaves that as it is.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_while_it_is_asked_ends_the_process(child):
    first = child.ask("process")
    main = threading.main_thread().ident
    timer = threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        child.ask("sleep")
    timer.join()
    assert not is_there(first)


def test_ctrl_c_that_reaches_the_process_does_not_end_it(child):
    first = child.ask("process")
    os.kill(first, signal.SIGINT)
    assert child.ask("process") == first


def test_errors_of_brokers_are_told_apart_from_bugs(child):
    with pytest.raises(AdminError) as refused:
        child.ask("refuse")
    assert (refused.value.name, refused.value.text) == ("GROUP_AUTHORIZATION_FAILED", "no")
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        child.ask("fail")


def test_the_next_question_after_an_end_is_asked_anew(child):
    first = child.ask("process")
    child.end()
    assert child.ask("process") != first


@pytest.mark.usefixtures("child")
def test_it_ends_with_the_object():
    other = Child({}, 10)
    process = other.ask("process")
    del other  # nothing else refers to it, so it is collected at once
    assert not is_there(process)


def test_it_ends_with_a_parent_that_is_killed():
    parent = (
        "import os, signal\n"
        "from copartition.kit.child import Child\n"
        "child = Child({'bootstrap.servers': 'h:1'}, 10)\n"
        "print(child._start().pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", parent], capture_output=True, check=False, text=True)
    wait_until_gone(int(done.stdout))


def test_no_list_of_processes_shows_a_password(child):
    line = Path(f"/proc/{child.ask('process')}/cmdline").read_text()
    assert "hunter2" not in line
    assert child.ask("settings") == {"sasl.password": "hunter2"}


@pytest.mark.parametrize(
    ("config", "error"),
    [({"no.such": "x"}, InvalidConfigError), ({"bootstrap.servers": "127.0.0.1:1"}, BrokerUnreachableError)],
)
def test_settings_that_librdkafka_refuses_and_brokers_that_are_away_keep_their_errors(config, error):
    made = Child(config, 10)
    with pytest.raises(error):
        made.ask("metadata")
    made.end()
