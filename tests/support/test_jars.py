from pathlib import Path

import pytest

from tests.support import jars

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>copartition</groupId><artifactId>test-jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies><dependency>
    <groupId>org.slf4j</groupId><artifactId>{artifact}</artifactId><version>1.7.36</version>
  </dependency></dependencies>
</project>
"""


@pytest.fixture
def pom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COPARTITION_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "pom.xml"
    path.write_text(POM.format(artifact="slf4j-simple"))
    return path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.jvm
def test_fetches_dependencies_and_theirs(pom: Path) -> None:
    assert names(jars.fetch(pom)) == {"slf4j-simple-1.7.36.jar", "slf4j-api-1.7.36.jar"}


def test_does_not_fetch_twice(pom: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[Path] = []

    def copy(_: Path, folder: Path) -> None:
        folder.mkdir()
        fetched.append(folder)

    monkeypatch.setattr(jars, "_copy_dependencies", copy)
    assert jars.fetch(pom) == jars.fetch(pom)
    assert len(fetched) == 1


def test_another_pom_has_another_folder(pom: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "_copy_dependencies", lambda _, folder: folder.mkdir())
    before = jars.fetch(pom)
    pom.write_text(POM.format(artifact="slf4j-nop"))
    assert jars.fetch(pom) != before


def test_a_fetch_that_was_cut_short_is_done_again(pom: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(_: Path, folder: Path) -> None:
        folder.mkdir()
        (folder / "half.jar").touch()
        raise KeyboardInterrupt

    def whole(_: Path, folder: Path) -> None:
        folder.mkdir()
        (folder / "whole.jar").touch()

    monkeypatch.setattr(jars, "_copy_dependencies", half)
    with pytest.raises(KeyboardInterrupt):
        jars.fetch(pom)
    monkeypatch.setattr(jars, "_copy_dependencies", whole)
    assert names(jars.fetch(pom)) == {"whole.jar"}


@pytest.mark.jvm
def test_says_what_maven_said(pom: Path) -> None:
    pom.write_text(POM.format(artifact="no-such-artifact"))
    with pytest.raises(jars.JarsError, match=r"(?s)could not fetch.*no-such-artifact"):
        jars.fetch(pom)


@pytest.mark.jvm
def test_says_what_javac_said_and_keeps_nothing(
    pom: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jars, "_copy_dependencies", lambda _, folder: folder.mkdir())
    source = tmp_path / "Odd.java"
    source.write_text("class Odd { int one = nothing; }")
    with pytest.raises(jars.JarsError, match=r"(?s)could not compile.*Odd\.java.*nothing"):
        jars.class_path("odd", pom, [source])
    assert not list(jars.cache_folder().glob("odd-*"))
