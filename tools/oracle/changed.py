"""Says which classes that we follow changed their code between two versions of Kafka.

`python -m tools.oracle.changed 4.3.1 4.4.0` compares the byte code of each class in `followed.toml`, nested
classes included. It writes a table of Markdown: each class that is not the same, which of its methods, and
our file that follows it. Exit code 1 if there is such a class. It needs Maven and a JDK.

What only looks different is passed over: line numbers, places in the constant pool, numbers of lambdas, and
packages of Kafka's classes, so that a class that went to another package is the same if its code is.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.support import jars

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

FOLLOWED = Path(__file__).with_name("followed.toml")
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>copartition</groupId><artifactId>followed</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{}</dependencies>
</project>
"""
DEPENDENCY = """<dependency>
    <groupId>org.apache.kafka</groupId><artifactId>{artifact}</artifactId><version>{version}</version>
    <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
  </dependency>"""

MOST = 6
"""How many members the table names of a class, of those that changed, came or went each."""
MADE = re.compile(r"[ $]")
"""A member that the compiler made, such as `lambda$append`, or the head of a class."""

Code = Counter[tuple[str, str]]
"""A class's code: how often it has each (name of a method or field, its byte code)."""


class Difference(NamedTuple):
    """Says how a class differs between two versions."""

    name: str
    how: str
    """Which methods changed, or in which version it is not there."""
    ours: str
    """The file of ours that follows it."""


def differences(old: str, new: str, followed: Mapping[str, str]) -> Iterator[Difference]:
    """Yield the classes of `followed`, ours by theirs, whose code is not the same in both versions.

    Args:
        old: a version of Kafka, such as "4.3.1".
        new: another one.
        followed: by the full name of a class, the file of ours that follows it.

    Raises:
        JarsError: Maven could not fetch the jars of a version.
    """
    before, after = (code_of(version, followed) for version in (old, new))
    for name, ours in followed.items():
        missing = [version for version, codes in ((old, before), (new, after)) if not codes[name]]
        if missing:
            yield Difference(name, f"not in {' nor '.join(missing)}", ours)
        elif before[name] != after[name]:
            yield Difference(name, _how(before[name], after[name]), ours)


def _how(before: Code, after: Code) -> str:
    """Name the members that changed, came and went; those that the compiler made only if no other did."""
    gone, new = ({name for name, _ in code} for code in (before - after, after - before))
    had, has = ({name for name, _ in code} for code in (before, after))
    parts = {"changed": (gone | new) & had & has, "new": new - had, "gone": gone - has}
    written = {how: {name for name in names if MADE.search(name) is None} for how, names in parts.items()}
    return "; ".join(
        f"{how}: {', '.join(sorted(names)[:MOST])}"
        + (f" and {len(names) - MOST} more" if len(names) > MOST else "")
        for how, names in (written if any(written.values()) else parts).items()
        if names
    )


def code_of(version: str, names: Iterable[str]) -> dict[str, Code]:
    """Return the code of each class by the name that was asked for; empty if there is no such class."""
    with tempfile.TemporaryDirectory(prefix="copartition-pom-") as scratch:
        pom = Path(scratch) / "pom.xml"
        dependencies = (DEPENDENCY.format(artifact=jar, version=version) for jar in table())
        pom.write_text(POM.format("".join(dependencies)))
        folder = jars.fetch(pom)
    # Classes by their own name, without a package: one that moved is found where it is now.
    places: dict[str, list[str]] = {}
    for jar in folder.glob("*.jar"):
        with zipfile.ZipFile(jar) as opened:
            for entry in opened.namelist():
                if entry.endswith(".class"):
                    place = entry.removesuffix(".class").replace("/", ".")
                    places.setdefault(place.rpartition(".")[2].split("$")[0], []).append(place)
    found = {name: _with_nested(name, places) for name in names}
    printed = _disassemble(folder, sorted({place for some in found.values() for place in some}))
    return {name: sum((printed[place] for place in some), Counter()) for name, some in found.items()}


def table() -> dict[str, dict[str, str]]:
    """Return the classes that we follow: by jar, our file by the class."""
    return tomllib.loads(FOLLOWED.read_text(encoding="utf-8"))


def _with_nested(name: str, places: Mapping[str, list[str]]) -> list[str]:
    """Return a class and its nested ones; if it is not where it was, those of its only namesake."""
    namesakes = places.get(name.rpartition(".")[2], [])
    tops = {place.split("$")[0] for place in namesakes}
    top = name if name in tops else next(iter(tops)) if len(tops) == 1 else None
    return [place for place in namesakes if place.split("$")[0] == top]


def _disassemble(folder: Path, places: list[str]) -> dict[str, Code]:
    """Return the code of each class, by its full name."""
    command = ["javap", "-p", "-c", "-constants", "-cp", f"{folder}/*", *places]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    classes = re.split(r"^Compiled from .*\n", printed, flags=re.MULTILINE)[1:]
    return {place: _code(text) for place, text in zip(places, classes, strict=True)}


def _code(text: str) -> Code:
    """Return what javap printed of a class, by member, without what only looks different."""
    text = re.sub(r"#\d+(, +\d+)?", "#", text)
    text = re.sub(r"(lambda\$\w+)\$\d+", r"\1", text)
    text = re.sub(r"org[./]apache[./]kafka[./](?:[a-z0-9_]+[./])*", "", text)
    head, *members = (line for line in re.split(r"\n\n|\n(?=  \S)", text.rstrip("}\n ")) if line.strip())
    # Nested classes have a head of their own; the numbers of anonymous ones and `invokedynamic` are not kept.
    code: Code = Counter({(head.split("{")[0].strip(), ""): 1})
    for member in members:
        signature, _, body = member.strip().partition("\n")
        name = re.search(r"([\w$<>]+)(?:\(|;| =|$)", signature)
        code[name[1] if name else signature, re.sub(r" +", " ", f"{signature}\n{body}")] += 1
    return code


def main(versions: list[str]) -> int:
    """Write the table of differences between two versions; 1 if there are any."""
    old, new = versions
    followed = {name: ours for jar in table().values() for name, ours in jar.items()}
    found = list(differences(old, new, followed))
    same = len(followed) - len(found)
    sys.stdout.write(f"{same} of {len(followed)} classes have the same code in {old} and {new}.\n\n")
    sys.stdout.write(f"| class | what differs between {old} and {new} | followed by |\n|---|---|---|\n")
    for name, how, ours in found:
        sys.stdout.write(f"| `{name.removeprefix('org.apache.kafka.')}` | {how} | `{ours}` |\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
