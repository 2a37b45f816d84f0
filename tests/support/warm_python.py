"""A Python for Spark's workers that is up at once: a fork of one that has imported what workers import.

Spark starts a Python for each session, each stream and each kind of work, and each spends up to a second on
importing PySpark, pandas and PyArrow. The program that `warm_python` gives takes Python's place: it asks a
server for a fork of itself, and lends it its arguments, environment, folder and standard streams. The server
does not import this project: a worker finds it, or does not, as a Python of its own would.
"""

import array
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

IMPORTED = ["pyspark.daemon", "pyspark.worker", "numpy", "pandas", "pyarrow", "confluent_kafka"]
STREAMS = (0, 1, 2)

# It is up in some 10 ms, without `site`. Whoever ends it ends the fork, which is not known at once.
CLIENT = """#!{python} -IS
import array, json, os, signal, socket, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
asked = json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]).encode()
streams = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", {streams}))]
server.sendmsg([len(asked).to_bytes(4, "big")], streams)
server.sendall(asked)
fork = int.from_bytes(server.recv(4), "big")
signal.signal(signal.SIGTERM, lambda *_: os.kill(fork, signal.SIGTERM))
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
for stream in {streams}:
    os.close(stream)
os._exit(int.from_bytes(server.recv(1) or b"\\1", "big"))
"""


@contextmanager
def warm_python(folder: Path) -> Iterator[Path]:
    """A program in this folder that runs `-m module arguments...` as this Python does.

    Args:
        folder: an empty one.
    """
    program, address = folder / "python", str(folder / "socket")
    program.write_text(CLIENT.format(python=sys.executable, address=address, streams=STREAMS))
    program.chmod(0o755)
    # Spark gives its workers this seed, and a fork cannot change its own.
    env = {**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen([sys.executable, __file__, address], env=env, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        server.stdout.readline()
        try:
            yield program
        finally:
            server.terminate()


def serve(address: str) -> None:
    """Import what workers import, say so, and fork for each that asks."""
    own = sys.path[1:]  # not this file's folder
    for name in IMPORTED:
        with suppress(ImportError):  # PySpark 3.5 has fewer modules
            __import__(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        os.write(sys.stdout.fileno(), b"ready\n")
        while True:
            asking, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                attend(asking, own)
            asking.close()


def attend(asking: socket.socket, own: list[str]) -> NoReturn:
    """Start the fork that was asked for, and tell who it is and how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    asked = asking.makefile("rb")
    streams = array.array("i")
    head, [(_, _, sent)], _, _ = asking.recvmsg(4, socket.CMSG_SPACE(len(STREAMS) * streams.itemsize))
    streams.frombytes(sent)
    arguments, env, folder = json.loads(asked.read(int.from_bytes(head, "big")))
    if fork := os.fork():
        for stream in (*STREAMS, *streams):  # whoever reads them waits for the fork only
            os.close(stream)
        asking.sendall(fork.to_bytes(4, "big"))
        status = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
        with suppress(OSError):  # who asked may be gone
            asking.sendall(bytes([status % 256]))
        os._exit(0)
    asked.close()
    asking.close()
    for stream, lent in zip(STREAMS, streams, strict=True):
        os.dup2(lent, stream)
        os.close(lent)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    sys.path[:] = [folder, *filter(None, env.get("PYTHONPATH", "").split(os.pathsep)), *own]
    sys.modules.pop("sitecustomize", None)
    with suppress(ImportError):  # as each Python does when it starts
        __import__("sitecustomize")
    flag, module, *sys.argv[1:] = arguments
    assert flag == "-m", arguments
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    sys.exit()


if __name__ == "__main__":
    serve(sys.argv[1])
