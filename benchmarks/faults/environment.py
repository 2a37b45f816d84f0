"""What runs share, since most of a short run would be the start of Spark: drivers, brokers and clusters."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path
from signal import SIGKILL
from typing import TYPE_CHECKING, Self

from benchmarks.faults.cluster import Cluster
from benchmarks.faults.scenarios import COORDINATOR
from tests.support.broker import Broker, Kafka, dies_with_us
from tests.support.proxy import Proxy
from tests.support.spark import LOGGING

if TYPE_CHECKING:
    from benchmarks.faults.scenarios import Scenario

ROOT = Path(__file__).parents[2]
CUT = 100
"""Records of an Arrow batch, and of a transaction."""

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # a JVM that lives for minutes
SETTINGS = f"""
spark.ui.enabled false
spark.ui.showConsoleProgress false
spark.driver.host 127.0.0.1
spark.driver.memory 600m
spark.driver.extraJavaOptions {QUICK}
spark.executor.memory 512m
spark.executor.extraJavaOptions {QUICK}
spark.python.daemon.module benchmarks.faults.worker
spark.sql.shuffle.partitions 2
spark.sql.execution.arrow.maxRecordsPerBatch {CUT}
spark.task.maxFailures 60
spark.excludeOnFailure.enabled false
spark.executorEnv.PYTHONPATH {ROOT}
spark.executorEnv.FAULTS_FOLDER {{folder}}
spark.sql.warehouse.dir {{folder}}/warehouse
"""
# Whoever is slow, or stands still, gets a copy beside it, and is not given up.
ON_CLUSTER = """
spark.speculation true
spark.speculation.interval 100ms
spark.speculation.multiplier 1.1
spark.speculation.quantile 0.1
spark.speculation.minTaskRuntime 500ms
spark.network.timeout 600s
"""


class Drivers:
    """Processes of `benchmarks.faults.job`, each with a Spark session that takes one run after the other.

    Attributes:
        folder: theirs; whose link `run` shows their workers the folder of the run.
    """

    def __init__(self, master: str, settings: str = "") -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="copartition-faults-"))
        self._master = master
        (self.folder / "spark-defaults.conf").write_text(SETTINGS.format(folder=self.folder) + settings)
        (self.folder / "log4j2.properties").write_text(LOGGING)
        self._running: dict[str, subprocess.Popen[str]] = {}

    def point_to(self, folder: Path) -> None:
        """Begin with a run."""
        link = self.folder / "run"
        link.unlink(missing_ok=True)
        link.symlink_to(folder)

    def give(self, name: str, folder: Path) -> None:
        """Have a driver, which is started where it does not live, work on a run."""
        if not self.lives(name):
            self._running[name] = self._launch(name)
        to_driver = self._running[name].stdin
        assert to_driver is not None
        to_driver.write(f"{folder}\n")
        to_driver.flush()

    def lives(self, name: str) -> bool:
        """Whether a driver runs."""
        return name in self._running and self._running[name].poll() is None

    def kill(self, name: str) -> None:
        """Kill a driver and its JVM at once."""
        if name in self._running:
            with self._running.pop(name) as driver, suppress(ProcessLookupError):
                os.killpg(driver.pid, SIGKILL)

    def close(self) -> None:
        """End all."""
        for name in list(self._running):
            self.kill(name)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _launch(self, name: str) -> subprocess.Popen[str]:
        environment = {
            **os.environ,
            "FAULTS_FOLDER": str(self.folder),
            "PYTHONPATH": str(ROOT),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_CONF_DIR": str(self.folder),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        }
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [*dies_with_us(), sys.executable, "-m", "benchmarks.faults.job", name, self._master],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                text=True,
                start_new_session=True,
            )


class Environment:
    """Started when first asked for, and kept; use it as a context manager.

    Attributes:
        proxy: before the broker of one node.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self.proxy = self._stack.enter_context(Proxy())

    def broker(self, scenario: Scenario) -> Broker:
        """The cluster for a scenario."""
        return self._two_nodes if scenario.nodes == 2 else self._one_node

    def drivers(self, scenario: Scenario) -> Drivers:
        """Drivers with such executors as a scenario asks for."""
        return self._on_cluster if scenario.on_cluster else self._local

    @cached_property
    def _one_node(self) -> Broker:
        return self._stack.enter_context(Broker(self.proxy.listeners))

    @cached_property
    def _two_nodes(self) -> Broker:
        broker = self._stack.enter_context(Broker(racks=("rack0", "rack1")))
        Kafka(broker.bootstrap_servers).create_coordinators(COORDINATOR)
        return broker

    @cached_property
    def _local(self) -> Drivers:
        return self._until_exit(Drivers("local[2,60]"))

    @cached_property
    def _on_cluster(self) -> Drivers:
        return self._until_exit(Drivers(self._stack.enter_context(Cluster()).master, ON_CLUSTER))

    def _until_exit(self, drivers: Drivers) -> Drivers:
        self._stack.callback(drivers.close)
        return drivers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
