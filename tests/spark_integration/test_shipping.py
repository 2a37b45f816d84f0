"""What Spark sends to executors runs where this project is not installed."""

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import cloudpickle

from copartition.audit.report import audit_schema
from copartition.audit.tally import Tally
from copartition.check.report import check_schema
from partitioning import murmur2, partition_for_key
from partitioning.hashing import HASHES
from partitioning.testing.mock_cluster import MockCluster
from spark_integration import profile
from spark_integration.auditing import counting
from spark_integration.hash_columns import arrow_hash
from spark_integration.shipping import _pack
from spark_integration.simulation import faults_of, simulate_grid
from spark_integration.sinks.cluster import WritableTopics
from spark_integration.sinks.placement import profile_rule
from tests.support.broker import Kafka
from tests.support.reading import read_topic
from tests.support.tiers import sample

ALONE = """
import pickle, sys
import pyarrow as pa

class NotInstalled:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {"partitioning", "assignors", "copartition", "spark_integration"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NotInstalled())
shipped = pickle.load(sys.stdin.buffer)
"""


def run_alone(shipped: object, code: str) -> str:
    command = [sys.executable, "-W", "error", "-c", ALONE + code]
    done = subprocess.run(command, input=cloudpickle.dumps(shipped), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def test_a_hash_function_can_be_pickled() -> None:
    assert cloudpickle.dumps(arrow_hash(HASHES["murmur2"].column))


def test_an_audit_can_be_pickled_after_its_json_schema_was_read() -> None:
    audit_schema()
    check_schema()
    assert cloudpickle.dumps((counting._counting({}, 64), counting._merge))


@pytest.mark.needs("data sources")
def test_the_source_can_be_pickled() -> None:
    from spark_integration.reading.source import KafkaDataSource

    # To load it here would give this process's class the methods of the copy. By its name alone, which an
    # executor without this package cannot look up, it would take a hundred bytes.
    assert len(cloudpickle.dumps(KafkaDataSource)) > 10_000


@pytest.mark.needs("data sources")
def test_spark_carries_so_little_that_it_does_not_warn_of_it() -> None:
    from spark_integration.packed_source import PackedSource

    # A task of a read has it twice, and what else the task does; Spark warns from 1,000 KiB on.
    assert len(cloudpickle.dumps((PackedSource, PackedSource({})))) < 250_000


@pytest.mark.live
@pytest.mark.needs("data sources")
def test_the_source_can_be_loaded_without_this_project() -> None:
    from spark_integration.packed_source import PackedSource

    code = "print(shipped.name(), *shipped({'subscribe': 't', 'bootstrap.servers': 's'}).schema().names[:2])"
    assert run_alone(PackedSource, code) == "copartition key value"


def test_a_rule_takes_its_own_hash_along_and_no_other() -> None:
    shipped = {name: cloudpickle.dumps(profile_rule(name, {})) for name in ("java", "librdkafka")}
    assert {name for name, sent in shipped.items() if b"hashing/crc32.py" in sent} == {"librdkafka"}
    assert max(map(len, shipped.values())) < 1 << 17  # the tables of crc32 alone are half a megabyte


@pytest.mark.live
@pytest.mark.sampled
@pytest.mark.parametrize("function", sample([*HASHES], before_ci=4))
def test_a_hash_function_runs_without_this_project(function: str) -> None:
    code = "print(shipped(pa.array([b'skipped', b'key', None, b'flight'], pa.binary())[1:]).to_pylist())"
    shipped = arrow_hash(HASHES[function].column)
    expected = [HASHES[function].scalar(b"key"), None, HASHES[function].scalar(b"flight")]
    assert run_alone(shipped, code) == str(expected)


@pytest.mark.live
def test_a_hash_function_takes_large_arrays_and_empty_ones() -> None:
    code = "print([shipped(pa.array(keys, pa.large_binary())).to_pylist() for keys in ([b'key'], [])])"
    assert run_alone(arrow_hash(HASHES["murmur2"].column), code) == str([[murmur2(b"key")], []])


@pytest.mark.live
def test_an_audit_runs_without_this_project() -> None:
    code = """
heads, count, merge = shipped
keys = [b"user-%d" % number for number in range(200)]
rows = {"topic": ["t"] * 200, "partition": pa.array([0] * 200, pa.int32()), "offset": range(200),
        "timestamp_ms": [-1] * 200, "key": keys, "task": [7] * 200}
(head,) = heads(iter([pa.record_batch(rows)]))
(counted,) = count(iter([pa.record_batch(rows)]))
parts = pa.Table.from_batches([counted, counted]).to_pandas()
print(head.num_rows, counted["task"].to_pylist(), *(tally.hex() for tally in merge(parts)["tally"]))
"""
    started = Tally(3, counts=[2, 3]).dump()
    shipped = (counting._heads, counting._counting({"t": started}, 64), counting._merge)
    *counted, tally = run_alone(shipped, code).split()
    assert counted == ["32", "[7]"]
    merged = Tally.load(bytes.fromhex(tally))
    merged.settle()
    assert merged.blocks.rows.sum() == 400


@pytest.mark.slow
@pytest.mark.live
def test_a_profile_runs_without_this_project() -> None:
    code = """
rows = pa.record_batch({"key": [b"key", None], "count": [5, 2], "old": pa.array([1, None], pa.int32()),
                        "new": pa.array([2, None], pa.int32())})
summing, adding_up = shipped
(found,) = summing(iter([rows]))
(row,) = next(adding_up(iter([found, found]))).to_pylist()
print([row["keys"], row["keyless"], row["moved"], row["old"], row["new"], row["hottest"][0]["rows"]])
"""
    shipped = profile._summing(3, 4, 1), profile._adding_up(3, 4, 1)
    assert run_alone(shipped, code) == str([2, 4, 10, [0, 10, 0], [0, 0, 10, 0], 5])


@pytest.mark.needs("data sources")
def test_the_sink_writes_without_this_project_and_its_tasks_share_a_producer(
    mock_cluster: MockCluster,
) -> None:
    from spark_integration.sinks import source
    from spark_integration.sinks.options import SinkOptions

    mock_cluster.create_topic("shipped", 2)
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers}
    asked = SinkOptions(config, "shipped", None)
    writer = source._BatchWriter(source._Destination(asked, None, None, WritableTopics({"shipped": 2}, {})))
    code = """
from pathlib import Path
for task in (pickle.loads(shipped), pickle.loads(shipped)):
    task.write(iter([pa.record_batch({"value": pa.array([b"v"])})]))
print(sum(name.read_text() == "rdk:main\\n" for name in Path("/proc/self/task").glob("*/comm")))
"""
    assert run_alone(cloudpickle.dumps(writer), code) == "1"
    assert [record.value for record in read_topic(mock_cluster.bootstrap_servers, "shipped")] == [b"v"] * 2


@pytest.mark.needs("data sources")
@pytest.mark.slow
def test_a_server_without_this_project_plans_writes_and_its_tasks_check_keys(
    mock_cluster: MockCluster,
) -> None:
    from spark_integration.sinks.source import KafkaSink

    mock_cluster.create_topic("planned", 3)
    code = f"""
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

notes = {{"copartition.profile": "java", "copartition.partitions": 3}}
schema = StructType([StructField("key", BinaryType()), StructField("value", BinaryType()),
                     StructField("partition", IntegerType(), metadata=notes)])
options = {{"kafka.bootstrap.servers": {mock_cluster.bootstrap_servers!r}, "topic": "planned"}}
writer = shipped(options).writer(schema, False)
place = pa.array([{partition_for_key(b"key", 3)}], pa.int32())
writer.write(iter([pa.record_batch({{"key": [b"key"], "value": [b"v"], "partition": place}})]))
try:
    writer.write(iter([pa.record_batch({{"key": [b"another"], "value": [b"v"], "partition": place}})]))
except ValueError as error:
    print(type(error).__name__)
"""
    assert partition_for_key(b"another", 3) != partition_for_key(b"key", 3)
    assert run_alone(KafkaSink, code) == "RoutingError"
    assert [record.key for record in read_topic(mock_cluster.bootstrap_servers, "planned")] == [b"key"]


@pytest.mark.slow
@pytest.mark.needs("data sources")
def test_the_exactly_once_sink_writes_without_this_project(broker: Kafka) -> None:
    import spark_integration.sinks.source  # noqa: F401 - says what travels by value
    from spark_integration.sinks.exactly_once.writing import write_partition
    from tests.spark_integration.sinks.exactly_once.rows import target

    version = target(broker.bootstrap_servers, broker.create_topic(1))
    code = """
rows = pa.record_batch({"value": [b"v"], "partition": pa.array([0], pa.int32())})
write, version = shipped
write(iter([rows]), version, 0)
"""
    for _ in range(2):
        run_alone((write_partition, version), code)
    assert [record.value for record in read_topic(broker.bootstrap_servers, version.topic)] == [b"v"]


@pytest.mark.live
def test_an_executor_without_this_project_says_so() -> None:
    code = "print([batch.to_pylist() for batch in shipped(iter([pa.record_batch({'id': [0]})]))])"
    assert "ModuleNotFoundError: " in run_alone(faults_of(cloudpickle.dumps((simulate_grid, abs))), code)


@pytest.mark.slow
@pytest.mark.live
def test_the_zip_is_the_same_each_time_and_can_be_imported_from(tmp_path: Path) -> None:
    first, second = (_pack(tmp_path / name) for name in ("first.zip", "second.zip"))
    assert first.read_bytes() == second.read_bytes()
    modules = "copartition.simulation, copartition.vectors.cases, copartition.migrate.migration"
    modules += ", copartition.doctor.checks, copartition.why.cures, copartition.check.writers"
    modules += ", spark_integration.simulation as simulation"
    code = f"import {modules}; print(simulation.__file__)"
    hidden = "import sys; sys.path[:] = [p for p in sys.path if 'site-packages' in p or 'lib/python' in p]; "
    shipped = f"{hidden}sys.path.insert(0, {str(first)!r}); {code}"
    done = subprocess.run([sys.executable, "-P", "-c", shipped], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(first))
