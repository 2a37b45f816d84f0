"""A Python that the system does not offer, from Debian's packages: unpacked into a folder, installed nowhere.

Debian's newest Python needs a newer libc than the system may have, so its libc is unpacked beside it, and the
interpreter is patched to start with that one (`patchelf`, which comes the same way).
"""

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

SUITE = "testing"
"""Of Debian; it has the last two or three Pythons."""
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class DebianPythonError(RuntimeError):
    """Debian's packages could not be fetched or unpacked."""


def debian_python(version: str, folder: Path) -> Path:
    """The interpreter of a Python that is unpacked in a folder, fetched where it is not there yet.

    Args:
        version: for instance "3.14".
        folder: of this Python; it may not be moved afterwards.

    Raises:
        DebianPythonError: this is no Debian, or a package could not be fetched; the message holds why.
    """
    python = folder / "usr" / "bin" / f"python{version}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent, prefix="unpacking-") as scratch:
            unpacked = Path(scratch) / "unpacked"
            for package in _fetched(version, Path(scratch)):
                _run("dpkg-deb", "--extract", package, unpacked)
            _start_with_own_libc(unpacked, python.relative_to(folder), folder)
            unpacked.rename(folder)
    return python


def _fetched(version: str, scratch: Path) -> list[Path]:
    """The packages of a Python and of all that they need, as if nothing were installed here."""
    if shutil.which("apt-get") is None:
        raise DebianPythonError(f"there is no Python {version} here, and no apt-get to fetch it: install one")
    for name in ("lists/partial", "cache/archives/partial"):
        (scratch / name).mkdir(parents=True)
    (scratch / "nothing").touch()
    sources = scratch / "sources.list"
    sources.write_text(f"deb [signed-by={KEYRING}] {_mirror()} {SUITE} main\n")
    own = {
        "Dir::Etc::SourceList": sources,
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": scratch / "lists",
        "Dir::State::Status": scratch / "nothing",
        "Dir::Cache": scratch / "cache",
        "APT::Sandbox::User": "root",  # apt's own user may not write here
        "Debug::NoLocking": "true",
    }
    apt = ["apt-get", "-qq", *(f"--option={name}={value}" for name, value in own.items())]
    _run(*apt, "update")
    wanted = [f"python{version}-venv", "patchelf", "libstdc++6"]
    _run(*apt, "install", "--yes", "--download-only", "--no-install-recommends", *wanted)
    return sorted((scratch / "cache" / "archives").glob("*.deb"))


def _mirror() -> str:
    """Where this system has its own packages from."""
    found = _run("apt-get", "indextargets", "--format=$(REPO_URI)", "Created-By: Packages", "Origin: Debian")
    addresses = [address for address in found.split() if "security" not in address]
    if not addresses:
        raise DebianPythonError("this system's packages are not Debian's: install the Python that is wanted")
    return addresses[0]


def _start_with_own_libc(unpacked: Path, python: Path, folder: Path) -> None:
    """Have an interpreter take its libc from where it will lie, whatever the system has."""
    (loader,) = unpacked.glob("usr/lib/*-linux-gnu/ld-linux-*.so.*")
    libraries = loader.parent
    patchelf = [loader, "--library-path", libraries, unpacked / "usr" / "bin" / "patchelf"]
    later = folder / libraries.relative_to(unpacked)
    # Both in one call make an interpreter that crashes (patchelf 0.18).
    _run(*patchelf, "--force-rpath", "--set-rpath", later, unpacked / python)
    _run(*patchelf, "--set-interpreter", later / loader.name, unpacked / python)


def _run(*command: Any) -> str:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DebianPythonError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout
