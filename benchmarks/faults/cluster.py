"""Spark's standalone cluster on this machine: three workers of one core on hosts of their own.

`local-cluster` would do but for two things: its workers share a host, where Spark never runs a speculative
copy, and they die with their driver, so that nothing a dead driver left behind is alive any more.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path
from shutil import rmtree
from signal import SIGKILL, SIGTERM
from typing import Self

import pyspark

from tests.support.broker import dies_with_us, free_ports

SPARK_HOME = Path(pyspark.__file__).parent
SCALA = "2.13"  # of every Spark 4; a worker that is not told looks for the folders of a build
HOSTS = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
REGISTERED = re.compile(r"Registering worker")


class Cluster:
    """A master and three workers; use it as a context manager.

    Attributes:
        master: the address for a driver.

    Raises:
        RuntimeError: it did not start within three minutes.
    """

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="copartition-cluster-"))
        self._log = self._folder / "log"
        self._processes: list[subprocess.Popen[bytes]] = []
        (port,) = free_ports(1)
        self.master = f"spark://127.0.0.1:{port}"
        self._launch("master.Master", "--host", HOSTS[0], "--port", str(port))
        for host in HOSTS:
            work = ("--work-dir", str(self._folder / host))
            self._launch(
                "worker.Worker", "--host", host, "--cores", "1", "--memory", "1g", *work, self.master
            )
        deadline = time.monotonic() + 180
        while len(REGISTERED.findall(self._log.read_text())) < len(HOSTS):
            if time.monotonic() > deadline:
                log = self._log.read_text()[-2000:]
                self.close()
                raise RuntimeError(f"the cluster did not start within three minutes:\n{log}")
            time.sleep(0.1)

    def close(self) -> None:
        """End the workers, which end their executors, and the master."""
        for process in reversed(self._processes):
            process.send_signal(SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.send_signal(SIGKILL)
                process.wait()
        rmtree(self._folder, ignore_errors=True)

    def _launch(self, main: str, *arguments: str) -> None:
        java = [
            "java",
            "-Xmx256m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-cp",
            f"{SPARK_HOME}/jars/*",
        ]
        command = [*dies_with_us(), *java, f"org.apache.spark.deploy.{main}", "--webui-port", "0", *arguments]
        environment = {**os.environ, "SPARK_HOME": str(SPARK_HOME), "SPARK_SCALA_VERSION": SCALA}
        with self._log.open("ab") as log:
            self._processes.append(
                subprocess.Popen(
                    command,
                    cwd=self._folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
