"""A consumer as a process of its own, of any client."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


PATIENCE_S = 60


class Member:
    """A consumer process; it does nothing before `tell("start")`.

    Args:
        name: the consumer's name; a restarted consumer has it again.
        settings: what the process is given as JSON.
        folder: where its output goes.
        command: how the process is started.
    """

    def __init__(self, name: str, settings: dict[str, Any], folder: Path, command: Sequence[str]) -> None:
        self.name = name
        self.done: list[dict[str, Any]] = []
        self.client: str = settings["config"]["client.id"]
        self._output = folder / f"{self.client.replace('/', '_')}.jsonl"
        with self._output.open("wb") as output, self._output.with_suffix(".err").open("wb") as errors:
            self._process = subprocess.Popen(
                [*command, json.dumps(settings)], stdin=subprocess.PIPE, stdout=output, stderr=errors
            )

    def wait_until_ready(self) -> None:
        """Wait until the process is there and can start at once when told."""
        while not self._output.stat().st_size:
            self._must_run()
            time.sleep(0.05)

    def tell(self, command: str) -> None:
        """Give the process a command."""
        stdin: IO[bytes] | None = self._process.stdin
        assert stdin is not None
        stdin.write(f"{command}\n".encode())
        stdin.flush()

    def signal(self, what: str) -> None:
        """Do to the process what no process can say of itself, and remember when."""
        number = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "continue": signal.SIGCONT}[what]
        self.done.append({"t": round(time.monotonic(), 4), "event": what})
        self._process.send_signal(number)

    def output(self) -> list[dict[str, Any]]:
        """What the process said so far."""
        lines = self._output.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def ask(self, question: str) -> dict[str, Any]:
        """What the process answers to a command that is a question."""
        known = sum(line["event"] == question for line in self.output())
        self.tell(question)
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            answers = [line for line in self.output() if line["event"] == question]
            if len(answers) > known:
                return {key: value for key, value in answers[-1].items() if key not in {"t", "event"}}
            self._must_run()
            time.sleep(0.05)
        raise TimeoutError(f"consumer {self.name} did not answer {question!r} within {PATIENCE_S} s")

    @property
    def over(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    def last_words(self) -> str:
        """Return the last line of what the process complained of that is not part of a stack of calls."""
        lines = self._output.with_suffix(".err").read_text().splitlines()
        lines = [line for line in lines if not line[:1].isspace()]
        return lines[-1] if lines else f"exit code {self._process.poll()}"

    def wait_until_over(self) -> None:
        """Wait until the process has done what it was asked last, to close."""
        self._process.wait(PATIENCE_S)

    def events(self) -> list[dict[str, Any]]:
        """What the process said, and what was done to it, in order; it is over when this returns."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
        return sorted([*self.output(), *self.done], key=lambda event: event["t"])

    def _must_run(self) -> None:
        if (code := self._process.poll()) is not None:
            errors = self._output.with_suffix(".err").read_text()
            raise RuntimeError(f"consumer {self.name} ended with exit code {code}:\n{errors}")
