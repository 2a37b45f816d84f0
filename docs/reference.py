"""The reference of all public names, from their docstrings: `python -m docs.reference FOLDER`."""

import importlib
import sys
import warnings
from pathlib import Path

import pdoc

PUBLIC = (
    "partitioning",
    "partitioning.clients.aiokafka",
    "partitioning.clients.confluent",
    "partitioning.clients.confluent_aio",
    "partitioning.errors",
    "partitioning.clients.kafka_python",
    "partitioning.clients.read_process_write",
    "partitioning.producer",
    "partitioning.testing",
    "assignors",
    "assignors.clients.aiokafka",
    "assignors.clients.kafka_python",
    "assignors.testing",
    "copartition",
    "copartition.diff",
    "copartition.groups",
    "copartition.simulation",
    "spark_integration",
)
"""What users may import, as CONTRIBUTING.md says; other modules may change at any time."""


def write_reference(folder: Path) -> None:
    """Write a page for each package and module that is public.

    Raises:
        UserWarning: a public name that does not exist.
    """
    for name in PUBLIC:
        package = importlib.import_module(name)
        # pdoc looks for names where a lazy package has none before they are used.
        for public in getattr(package, "__all__", ()):
            package.__dict__[public] = getattr(package, public)
    pdoc.render.configure(docformat="google", search=True)
    with warnings.catch_warnings():
        # Others say which annotations name what only type checkers import, and that `copartition.diff` is a
        # function and a module.
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", "Found .* but it does not resolve")
        pdoc.pdoc(*PUBLIC, output_directory=folder)


if __name__ == "__main__":
    write_reference(Path(sys.argv[1]))
