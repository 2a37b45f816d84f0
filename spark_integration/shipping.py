"""Send this package to executors that do not have it."""

import atexit
import hashlib
import shutil
import tempfile
import zipfile
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from pyspark import cloudpickle
from pyspark.sql import SparkSession

PLACEMENT = (
    "partitioning.errors",
    "partitioning.hashing",
    "partitioning.keys",
    "partitioning.kit",
    "partitioning.profiles",
    "partitioning.topic_partition",
)
"""Modules that place keys, for `send_by_value`."""
PACKAGES = ("partitioning", "assignors", "copartition", "spark_integration", "pyspark_copartition")
_ANY_DAY = (1980, 1, 1, 0, 0, 0)


def send_by_value(*modules: str) -> None:
    """Have what is in these modules, or below them, travel whole.

    Executors then unpickle it without having this package, and so does a Connect server.
    """
    for name in modules:
        cast(Any, cloudpickle).register_pickle_by_value(import_module(name))


def ship(spark: SparkSession) -> None:
    """Make this package importable on the executors of a session, on Connect also where its server runs.

    `simulate_rebalances` needs it there, and so do functions of your own that import it, such as one given to
    `foreachBatch` on Connect. The columns, `route`, `audit` and `format("copartition")` do not. What the
    package itself needs is not sent: NumPy and mmh3, and what the function uses beyond.

    It is sent as a zip, for Python does not import from a wheel that `addPyFile` or `addArtifacts` sent. Call
    it once, before what needs it; executors that join later get it too. Plug-ins are not in it.

    Args:
        spark: a session, classic or Connect.
    """
    # Asked of the type: a Connect session answers for any attribute.
    if hasattr(type(spark), "addArtifacts"):
        spark.addArtifacts(str(_packed_once()), pyfile=True)
    else:
        spark.sparkContext.addPyFile(str(_packed_once()))  # before Spark 4.0, classic


@cache
def _packed_once() -> Path:
    """Return the zip, where it stays as long as this program: executors that join later fetch it from there.

    Spark takes it a second time under the same name and path only, and under a name that it knows no other
    content.
    """
    folder = Path(tempfile.mkdtemp(prefix="copartition-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    packed = _pack(folder / "package.zip")
    digest = hashlib.sha256(packed.read_bytes()).hexdigest()[:16]
    return packed.rename(folder / f"copartition-{digest}.zip")


def _pack(file: Path) -> Path:
    """Return a zip of the installed packages, the same bytes each time."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for package in PACKAGES:
            spec = find_spec(package)
            assert spec is not None
            (home,) = map(Path, spec.submodule_search_locations or ())
            for path in sorted(home.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    name = str(Path(package) / path.relative_to(home))
                    # A fixed date: the digest in the file's name must say what is in it, not when it was
                    # packed.
                    packed.writestr(zipfile.ZipInfo(name, _ANY_DAY), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return file
