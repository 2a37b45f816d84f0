"""What Spark sends to executors runs where this project is not installed."""

import subprocess
import sys

import pytest
from pyspark import cloudpickle

from partitioning import murmur2, partition_for_key
from partitioning.hashing import HASHES
from partitioning.testing.mock_cluster import MockCluster
from spark_integration import profile
from spark_integration.auditing import plan
from spark_integration.hash_columns import arrow_hash
from spark_integration.simulation.executors import lacking
from spark_integration.simulation.runs import simulate_grid
from tests.support.reading import read_topic

ALONE = """
import pickle, sys
import pyarrow as pa

class NotInstalled:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {"partitioning", "assignors", "spark_integration"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NotInstalled())
shipped = pickle.load(sys.stdin.buffer)
"""


def run_alone(shipped: object, code: str) -> str:
    command = [sys.executable, "-W", "error", "-c", ALONE + code]
    done = subprocess.run(command, input=cloudpickle.dumps(shipped), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


@pytest.mark.parametrize("function", HASHES)
def test_a_hash_function_runs_without_this_project(function: str) -> None:
    code = "print(shipped(pa.array([b'skipped', b'key', None, b'flight'], pa.binary())[1:]).to_pylist())"
    shipped = arrow_hash(HASHES[function].column)
    expected = [HASHES[function].scalar(b"key"), None, HASHES[function].scalar(b"flight")]
    assert run_alone(shipped, code) == str(expected)


def test_a_hash_function_takes_large_arrays_and_empty_ones() -> None:
    code = "print([shipped(pa.array(keys, pa.large_binary())).to_pylist() for keys in ([b'key'], [])])"
    assert run_alone(arrow_hash(HASHES["murmur2"].column), code) == str([[murmur2(b"key")], []])


def test_an_audit_runs_without_this_project() -> None:
    tried, candidates = plan._candidates([3], ["java"])
    code = """
rows = pa.record_batch({"topic": ["t", "t"], "partition": [0, 1], "offset": [0, 0], "key": [b"key", b""]})
count, cut = shipped
(blocks,) = count(iter([rows]))
print(cut(blocks.to_pandas())[["rows", "explained", "keyless"]].values.tolist())
"""
    explained = int(partition_for_key(b"key", 3) == 0)
    assert run_alone((plan._counting(candidates), plan._cutting(tried)), code) == str(
        [[1, explained, 0], [1, 0, 1]]
    )


def test_a_profile_runs_without_this_project() -> None:
    code = """
rows = pa.record_batch({"key": [b"key", None], "count": [5, 2], "old": pa.array([1, None], pa.int32()),
                        "new": pa.array([2, None], pa.int32())})
(found,) = shipped(iter([rows]))
print([row["rows"] for row in found.to_pylist() if row["kind"] in ("keys", "keyless", "moved", "hot")])
"""
    assert run_alone(profile._summing(3, 4, 1), code) == str([1, 2, 5, 5])


@pytest.mark.needs("data sources")
def test_the_sink_writes_without_this_project(mock_cluster: MockCluster) -> None:
    from spark_integration.sinks import source
    from spark_integration.sinks.options import SinkOptions

    mock_cluster.create_topic("shipped", 2)
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers}
    asked = SinkOptions(config, "shipped", None)
    writer = source._BatchWriter(source._Destination(asked, None, False, {"shipped": 2}))
    run_alone(writer, "shipped.write(iter([pa.record_batch({'value': pa.array([b'v'])})]))")
    assert [record.value for record in read_topic(mock_cluster.bootstrap_servers, "shipped")] == [b"v"]


@pytest.mark.parametrize("task", [print, simulate_grid])
def test_an_executor_without_this_project_says_so(task: object) -> None:
    code = "print([batch.to_pylist() for batch in shipped(iter([None]))])"
    assert "ModuleNotFoundError: " in run_alone(lacking(cloudpickle.dumps(task), ["range"]), code)
