"""Processes of a run, each under a name: started again when they end, and what they logged."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from signal import SIGTERM

from tests.support.broker import dies_with_us

ROOT = Path(__file__).parents[2]


class Processes:
    """Those of `python -m MODULE FOLDER NAME`.

    Attributes:
        running: by name, the last one that was started.
        replaced: others that stand still or did so.
    """

    def __init__(self, module: str, folder: Path) -> None:
        self._module, self._folder = module, folder
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.replaced: list[subprocess.Popen[bytes]] = []

    def keep(self, name: str) -> None:
        """Have a process of this name run."""
        process = self.running.get(name)
        if process is None or process.poll() is not None:
            self.running[name] = self._launch(name)

    def ended_well(self, name: str) -> bool:
        """Whether the last process of this name ended with 0."""
        return name in self.running and self.running[name].poll() == 0

    def every(self) -> list[subprocess.Popen[bytes]]:
        """All of them."""
        return [*self.running.values(), *self.replaced]

    def end(self) -> str:
        """End all processes; says so where one did not end in order."""
        for process in self.every():
            process.send_signal(SIGTERM)
        for process in self.every():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        # Whoever was replaced while it stood still is fenced, and ends with an error; whoever has just been
        # started does not listen to SIGTERM yet.
        orderly = (0, -SIGTERM)
        codes = [process.returncode for process in self.running.values() if process.returncode not in orderly]
        return f"ended with {codes}" if codes else "finished"

    def errors(self) -> dict[str, int]:
        """What they ended with by themselves, and what transactions were aborted for."""
        found: Counter[str] = Counter()
        for log in self._folder.glob("log-*"):
            text = re.sub(r"\n.*\n\nThe above exception", "", log.read_text(errors="replace"))
            for line in text.splitlines():
                if line.startswith("Timeout ("):
                    found["hung"] += 1
                elif aborted := re.search(r"abort \d+: KafkaError\{.*?code=(\w+)", line):
                    found[f"abort: {aborted[1]}"] += 1
                elif ended := re.match(
                    r"(?:\w+\.)*(\w+(?:Error|Exception)): (?:KafkaError\{code=(\w+))?", line
                ):
                    found[f"end: {ended[2] or ended[1]}"] += 1
        return dict(found.most_common())

    def keep_logs(self, name: str) -> Path:
        """Copy all that the run left to where it stays."""
        kept = Path(tempfile.gettempdir()) / f"faults-{re.sub(r'[^a-z0-9]+', '-', name)}"
        shutil.copytree(self._folder, kept, dirs_exist_ok=True)
        return kept

    def _launch(self, name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", self._module, str(self._folder), name]
        with (self._folder / f"log-{name}").open("ab") as log:
            return subprocess.Popen(
                [*dies_with_us(), *command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
