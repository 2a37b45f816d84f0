from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from spark_integration import ConnectorError, configure_spark_with_kafka
from spark_integration.session import CONNECTOR_JARS


class Builder(SparkSession.Builder):
    """A builder that can be read."""

    def __init__(self) -> None:
        self._options: dict[str, str] = {}


def configured(**how) -> dict[str, str]:
    return configure_spark_with_kafka(Builder(), **how)._options


@pytest.fixture
def jars(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"{stem}_2.13-4.0.0.jar" for stem in CONNECTOR_JARS]
    for path in paths:
        path.touch()
    return paths


def test_the_connector_matches_the_spark_that_is_installed() -> None:
    group, artifact, version = configured()["spark.jars.packages"].split(":")
    assert (group, version) == ("org.apache.spark", pyspark.__version__)
    assert artifact.startswith("spark-sql-kafka-0-10_2.1")


def test_another_version_and_further_packages_may_be_named() -> None:
    packages = configured(version="4.0.0", packages=["a:b:1"])["spark.jars.packages"]
    assert packages.endswith(":4.0.0,a:b:1")


def test_given_jars_are_used_and_nothing_is_fetched(jars: list[Path]) -> None:
    assert configured(jars=jars) == {"spark.jars": ",".join(map(str, jars))}


@pytest.mark.parametrize("stem", CONNECTOR_JARS)
def test_a_missing_jar_is_named(jars: list[Path], stem: str) -> None:
    with pytest.raises(ConnectorError, match=f"not complete, {stem} is missing"):
        configured(jars=[jar for jar in jars if not jar.name.startswith(stem)])


def test_a_jar_that_is_no_file_is_named(jars: list[Path]) -> None:
    jars[2].unlink()
    with pytest.raises(ConnectorError, match=f"no such file: {jars[2]}"):
        configured(jars=jars)


def test_a_connect_client_is_told_where_the_connector_belongs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").touch()
    spec = type("Spec", (), {"origin": str(tmp_path / "pyspark" / "__init__.py")})
    monkeypatch.setattr("spark_integration.session.find_spec", lambda _: spec)
    with pytest.raises(ConnectorError, match="belongs on the Connect server"):
        configured()
