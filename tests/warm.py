"""Python commands without their start: each run is a fork of a Python that has the slow imports behind it.

Nothing of the project is imported before the fork, so that a changed copy of the project runs its own code.
"""

import atexit
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

SLOW = (
    *("numba.cuda", "pandas", "scipy.sparse.csgraph", "jsonschema", "requests", "matplotlib.figure"),
    *("snakemake.cli", "snakemake.report.html_reporter", "pytest", "hypothesis"),
)
WHEN_IMPORTED = "NUMBA_ENABLE_CUDASIM"  # numba reads it then; all else is read by the run


def run(module: str, *words: str, cwd: Path, env: dict[str, str], together: bool = False):
    """`python -m module words` in a folder, and `snakemake words` as that is typed, to the end.

    Returns what subprocess.run does; together: stdout has what is said on stderr too.
    """
    with tempfile.NamedTemporaryFile("r") as out, tempfile.NamedTemporaryFile("r") as err:
        order = module, list(map(str, words)), str(cwd), env, out.name, out.name if together else err.name
        code = _warm(env.get(WHEN_IMPORTED, "0")).run(order)
        return subprocess.CompletedProcess((module, *words), code, out.read(), err.read())


@cache
def _warm(simulator: str) -> "Warm":
    return Warm({**os.environ, WHEN_IMPORTED: simulator})


class Warm:
    """The process that forks. It ends with the one that started it."""

    def __init__(self, environment: dict[str, str]):
        ours, its = socket.socketpair()
        self._orders, self._answers = ours.makefile("w"), ours.makefile("r")
        words = [sys.executable, __file__, str(its.fileno())]
        self._process = subprocess.Popen(words, env=environment, pass_fds=[its.fileno()])
        its.close()
        ours.close()  # the files keep it open
        atexit.register(self._end)

    def _end(self) -> None:
        self._orders.close()
        self._answers.close()
        self._process.wait()

    def run(self, order: tuple) -> int:
        """The exit status."""
        self._orders.write(json.dumps(order) + "\n")
        self._orders.flush()
        return int(self._answers.readline())


def _serve(channel: socket.socket) -> None:
    channel.set_inheritable(False)
    for module in SLOW:
        __import__(module)
    sys.modules["snakemake.cli"].get_argument_parser()  # imports Snakemake's plugins
    with channel.makefile("r") as orders, channel.makefile("w") as answers:
        for line in orders:
            if not (child := os.fork()):
                _become(*json.loads(line))
            _, status = os.waitpid(child, 0)
            answers.write(f"{os.waitstatus_to_exitcode(status)}\n")
            answers.flush()


def _become(module: str, words: list[str], cwd: str, env: dict[str, str], out: str, err: str) -> None:
    """Be the command, and end with it."""
    for number, path, how in ((0, os.devnull, os.O_RDONLY), (1, out, os.O_WRONLY), (2, err, os.O_WRONLY)):
        opened = os.open(path, how | (os.O_APPEND if number else 0))
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    script = Path(sys.executable).with_name(module)
    added = filter(None, env.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:1] = [str(script.parent) if module == "snakemake" else cwd, *added]
    sys.argv = [str(script), *words]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    sys.exit()


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
