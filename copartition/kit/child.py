"""Ask a cluster through librdkafka in a child process, which may die while the command continues.

Parent and child exchange pickles. The parent sends `sys.path`, the settings, and then one pair (question,
arguments) after the other. The child sends one outcome for each question, which is a value or an exception.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import weakref
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread, Timer
from typing import IO, TYPE_CHECKING, Any

from partitioning.errors import CopartitionError

if TYPE_CHECKING:
    from collections.abc import Mapping

# The child finds modules where this process does, even if a program has changed its own path.
_PROGRAM = "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); import {name}; {name}.serve()"
_LAST_BYTES = 2_000
"""How many bytes at the end of the child's error stream are searched for its last line."""
_SLACK_S = 5.0
"""Seconds that the child has beyond librdkafka's own time limit before it is killed."""
_REQUESTS = {"commits": 2}
"""Question -> the number of requests that it takes, if it is more than one."""


class ChildEndedError(Exception):
    """The child process died from a question, or was killed because no answer came; the text says which."""


class AdminError(Exception):
    """A refusal by librdkafka or by a broker, instead of an answer.

    Attributes:
        name: Kafka's name of the error, such as "GROUP_ID_NOT_FOUND"; librdkafka's own begin with an
            underscore.
        text: the error in words.
    """

    def __init__(self, name: str, text: str) -> None:
        super().__init__(name, text)
        self.name, self.text = name, text


class Child:
    """Asks questions of `copartition.kit.admin.Admin` in a process that the first question starts.

    After `end` or a `ChildEndedError`, the next question starts another process, with new connections. The
    process ends at the latest when this object is collected or this interpreter ends.

    Between two calls no answer is on its way: if a question ends with an exception of any kind, the process
    is ended, so that the next question cannot read the answer to this one.

    Args:
        config: librdkafka settings. They reach the child through a pipe, so no list of processes shows them.
        timeout_s: seconds that librdkafka has for one request.
    """

    def __init__(self, config: Mapping[str, str], timeout_s: float) -> None:
        self._config, self._timeout_s = dict(config), timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._words: IO[bytes] | None = None  # the file of the child's error stream
        self._end: weakref.finalize[Any, Any] | None = None

    def ask(self, question: str, *arguments: object) -> Any:
        """Return what the method `question` of `Admin` returns for these arguments.

        Raises:
            AdminError: librdkafka or a broker refuses the request.
            ChildEndedError: the child died of the question, or gave no answer in time.
            CopartitionError: librdkafka refuses a setting, or no broker answers.
        """
        # A request that librdkafka has lost is never answered, and does not always time out either.
        limit_s = self._timeout_s * _REQUESTS.get(question, 1) + _SLACK_S
        try:
            if self._process is None:
                limit_s += self._timeout_s  # time to connect
            outcome = self._answer(self._process or self._start(), (question, arguments), limit_s)
        except BaseException:  # also Ctrl-C: the answer to this question must not be read as the next one's
            self.end()
            raise
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def end(self) -> None:
        """End the process if there is one; the next question starts another."""
        if self._end is not None:
            self._end()
        self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        """Start the process and send it the module path and the settings."""
        # This is a file and not a pipe: nothing reads it while the child runs, and a full pipe would block
        # the child.
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - `_end_process` closes it
        process = self._process = subprocess.Popen(  # noqa: S603 - this interpreter, and no word of a user
            [sys.executable, "-c", _PROGRAM.format(name=__name__)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # A user who sets "debug" wants to read librdkafka's log. Otherwise the stream goes into a file,
            # because its last line belongs to an error.
            stderr=None if "debug" in self._config else self._words,
        )
        self._end = weakref.finalize(self, _end_process, process, self._words)
        _send(process.stdin, sys.path)
        _send(process.stdin, (self._config, self._timeout_s))
        return process

    def _answer(
        self, process: subprocess.Popen[bytes], question: tuple[str, tuple[object, ...]], limit_s: float
    ) -> Any:
        """Send a question and return its outcome, a value or an exception.

        The child is killed after `limit_s` seconds, which also ends the wait for its answer.
        """
        timer = Timer(limit_s, process.kill)
        timer.daemon = True
        timer.start()
        assert process.stdout is not None
        try:
            _send(process.stdin, question)
            return pickle.load(process.stdout)  # noqa: S301 - our own child wrote it
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            if timer.finished.is_set():
                raise ChildEndedError(f"no answer within {limit_s:g} s") from error
            raise ChildEndedError(self._last_words(process)) from error
        finally:
            timer.cancel()

    def _last_words(self, process: subprocess.Popen[bytes]) -> str:
        """Return how the process ended, and the last line of its error stream."""
        process.kill()  # it has closed its output, so it is ending anyway
        code = process.wait()
        assert self._words is not None
        size = self._words.seek(0, os.SEEK_END)
        self._words.seek(max(size - _LAST_BYTES, 0))
        lines = self._words.read().decode(errors="replace").strip().splitlines()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"the process that asks ended with {how}{f': {lines[-1]}' if lines else ''}"


def _end_process(process: subprocess.Popen[bytes], words: IO[bytes]) -> None:
    """Kill a process; librdkafka takes a while to close a client in order, and sometimes never does."""
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, words):
        assert stream is not None
        with suppress(OSError):  # data that could not be sent is dropped
            stream.close()


def _send(stream: IO[bytes] | None, message: object) -> None:
    """Write a message to a stream, and flush it."""
    assert stream is not None
    stream.write(pickle.dumps(message))
    stream.flush()


def serve() -> None:
    """Answer the questions on standard input, in the child; end when the parent ends."""
    # Ctrl-C in a terminal reaches all processes of a command; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # so that nothing else that is printed gets between the answers
    questions: SimpleQueue[tuple[str, tuple[Any, ...]]] = SimpleQueue()
    config, timeout_s = pickle.load(sys.stdin.buffer)  # noqa: S301 - our own parent wrote it
    Thread(target=_answer_all, args=(config, timeout_s, questions, answers), daemon=True).start()
    # Another thread asks the cluster, because this one must notice at once when the parent ends.
    with suppress(EOFError):
        while True:
            questions.put(pickle.load(sys.stdin.buffer))  # noqa: S301 - as above
    os._exit(0)


def _answer_all(
    config: Mapping[str, str],
    timeout_s: float,
    questions: SimpleQueue[tuple[str, tuple[Any, ...]]],
    answers: IO[bytes],
) -> None:
    """Answer questions one after the other, forever, in a thread of the child.

    The client is created for the first question, and again if that failed. No exception leaves this function:
    it is sent to the parent as the outcome of its question.
    """
    from confluent_kafka import KafkaException  # noqa: PLC0415 - only the child needs it

    from copartition.kit.admin import Admin  # noqa: PLC0415 - as above

    admin = None
    while True:
        question, arguments = questions.get()
        try:
            admin = admin or Admin(config, timeout_s)
            outcome = getattr(admin, question)(*arguments)
        except CopartitionError as error:
            outcome = error
        except KafkaException as error:
            fault = error.args[0]
            # For an error without a message, librdkafka says no more than "ConsumerGroupDescribe: ".
            text = fault.str() or ""
            outcome = AdminError(
                fault.name(), text + fault.name() if text.endswith(": ") else text or fault.name()
            )
        except Exception as error:  # noqa: BLE001 - the parent reports it as the bug that it is
            outcome = RuntimeError(repr(error))
        _send(answers, outcome)
