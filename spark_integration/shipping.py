"""Send this package to executors on which it is not installed."""

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
"""The modules that compute a key's partition, for `send_by_value`."""
PACKAGES = ("partitioning", "assignors", "copartition", "spark_integration", "pyspark_copartition")
_ANY_DAY = (1980, 1, 1, 0, 0, 0)


def send_by_value(*modules: str) -> None:
    """Make functions and classes of these modules, and of modules below them, be pickled by value.

    Executors and a Connect server can then unpickle them without this package.

    Args:
        modules: names of modules, which are imported.
    """
    for name in modules:
        cast(Any, cloudpickle).register_pickle_by_value(import_module(name))


def ship(spark: SparkSession) -> None:
    """Make this package importable on the executors of a session, and on its server if it is Connect.

    `simulate_rebalances` and `simulate_grid` need it there. So do your own functions that import this
    package, such as one that is given to `foreachBatch` on Connect. The columns, `route`, `audit` and
    `format("copartition")` do not need it.

    Call it once, before the functions that need it; executors that join later get the package, too. The
    packages that this one needs are not sent, such as NumPy and mmh3, and neither are plug-ins. The package
    is sent as a zip file: Python does not import from a wheel that `addPyFile` or `addArtifacts` sent.

    Args:
        spark: a session, classic or Connect.
    """
    # `hasattr` asks the type, because a Connect session claims to have any attribute.
    if hasattr(type(spark), "addArtifacts"):
        spark.addArtifacts(str(_packed_once()), pyfile=True)
    else:
        spark.sparkContext.addPyFile(str(_packed_once()))  # before Spark 4.0, classic


@cache
def _packed_once() -> Path:
    """Return the zip file, which is made once and exists until this program ends.

    It must stay, because executors that join later fetch it. Spark accepts a file again only with the same
    path, and never another content with the same name; so the name contains a hash of the content.
    """
    folder = Path(tempfile.mkdtemp(prefix="copartition-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    packed = _pack(folder / "package.zip")
    digest = hashlib.sha256(packed.read_bytes()).hexdigest()[:16]
    return packed.rename(folder / f"copartition-{digest}.zip")


def _pack(file: Path) -> Path:
    """Write the installed packages to a zip file, with the same bytes each time, and return the file."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for package in PACKAGES:
            spec = find_spec(package)
            assert spec is not None
            (home,) = map(Path, spec.submodule_search_locations or ())
            for path in sorted(home.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    name = str(Path(package) / path.relative_to(home))
                    # The date is fixed, so that the hash in the zip file's name depends only on the content,
                    # not on the time of packing.
                    packed.writestr(zipfile.ZipInfo(name, _ANY_DAY), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return file
