import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

import spark_integration
from partitioning.kit.packages import install_command


@pytest.mark.parametrize("name", spark_integration.__all__)
def test_a_public_name_is_what_its_module_says(name: str) -> None:
    module = import_module(f"spark_integration.{spark_integration._HOME[name]}")
    assert getattr(spark_integration, name) is getattr(module, name)
    assert not isinstance(getattr(spark_integration, name), ModuleType)


def test_the_names_are_listed_before_any_is_loaded() -> None:
    listed = {name for name in dir(spark_integration) if not name.startswith("__")}
    assert listed == {*spark_integration.__all__} - {"__version__"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'rout'"):
        spark_integration.rout  # noqa: B018


@pytest.mark.live
@pytest.mark.parametrize("package", ["pyspark", "pandas"])
def test_without_spark_the_package_loads_and_its_names_say_what_to_install(package: str) -> None:
    code = f"""
import sys
sys.modules[{package!r}] = None
import spark_integration
from partitioning.kit.packages import install_command
try:
    spark_integration.kafka_partition
except ImportError as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "MissingDependencyError spark_integration.kafka_partition needs" in done.stdout
    assert install_command("spark") in done.stdout
