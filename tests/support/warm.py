"""Start Python commands fast: each is a fork of a Python that has made the slow imports.

The project is imported after the fork, so that a changed copy of the project runs its own code. The steps that
Snakemake starts are forks too: it finds this file as `python`.
"""

import array
import json
import os
import select
import socket
import sys
from contextlib import suppress
from functools import cache

WHEN_IMPORTED = "NUMBA_ENABLE_CUDASIM"  # the one variable that is read before the fork, by numba
ADDRESS = "WARM_PYTHON_"  # and the value of WHEN_IMPORTED: the variable with the socket of the process that forks
SLOW = (
    *("numba.cuda", "pandas", "scipy.sparse.csgraph", "scipy.stats", "jsonschema", "requests", "matplotlib.figure"),
    *("pandas.io.formats.style", "tabulate", "fontTools.subset", "PIL.PngImagePlugin", "psutil", "networkit"),
    *(f"matplotlib.backends.backend_{form}" for form in ("agg", "pdf", "svg")),
    *("snakemake.cli", "snakemake.report.html_reporter", "pytest", "hypothesis"),
)


def run(module: str, *words: str, cwd, env: dict[str, str], together: bool = False):
    """Run `python -m module words`, or `snakemake words`, in a folder; return what subprocess.run does.

    together: stdout includes stderr.
    """
    import subprocess
    import tempfile

    started = {value: _started(value) for value in ({"0", "1"} if module == "snakemake" else {_value(env)})}
    if module == "snakemake":
        env = env | {ADDRESS + value: address for value, address in started.items()}
    with open(os.devnull) as nothing, tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        files = nothing, out, out if together else err
        words = list(map(str, words))
        code = _forked(started[_value(env)], module, words, str(cwd), env, [file.fileno() for file in files])
        texts = [file.seek(0) or file.read() for file in (out, err)]
        return subprocess.CompletedProcess((module, *words), code, *texts)


def _value(env) -> str:
    return env.get(WHEN_IMPORTED) or "0"


def _forked(address: str, module: str, words: list[str], cwd: str, env: dict, files: list[int]) -> int:
    """Have a process forked that runs the command; return its exit status."""
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(address)
        order = json.dumps([module, words, cwd, env]).encode()
        channel.sendmsg([b"%12d" % len(order)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))])
        channel.sendall(order)
        return int(channel.recv(16) or 1)


@cache
def _folder():
    """Return a folder in which this file is `python`."""
    import tempfile

    folder = tempfile.TemporaryDirectory()
    shim = os.path.join(folder.name, "python")
    with open(shim, "w") as file:
        file.write(f'#!/bin/sh\nexec {sys.executable} -ISE {os.path.abspath(__file__)} "$@"\n')
    os.chmod(shim, 0o755)
    return folder


def share_with_workers() -> None:
    """Start both forking processes now, for all processes that this one starts.

    Compile the project, so that copies of it have the compiled files.
    """
    import compileall

    for package in ("kernels", "workflow"):
        compileall.compile_dir(os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, package), quiet=2)
    os.environ.update({ADDRESS + value: _started(value) for value in ("0", "1")})


@cache
def _started(value: str) -> str:
    """Start the process that forks for this value of WHEN_IMPORTED, which ends with this one; return its socket."""
    if address := os.environ.get(ADDRESS + value):  # share_with_workers() was called in the process above this one
        return address
    import atexit
    import subprocess

    address = os.path.join(_folder().name, value)
    server = socket.socket(socket.AF_UNIX)
    server.bind(address)
    server.listen(64)
    environment = {**os.environ, WHEN_IMPORTED: value}
    words = [sys.executable, __file__, "--serve", str(server.fileno())]
    process = subprocess.Popen(words, env=environment, pass_fds=[server.fileno()], stdin=subprocess.PIPE)
    server.close()
    atexit.register(process.communicate)
    return address


def _serve(server: socket.socket) -> None:
    import gc
    import warnings

    # Since Python 3.12. The other threads are idle ones of BLAS, which starts its threads anew after a fork.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    server.set_inheritable(False)
    for module in SLOW:
        with suppress(ImportError):  # in an environment for the library alone
            __import__(module)
    if "snakemake.cli" in sys.modules:
        sys.modules["snakemake.cli"].get_argument_parser()  # imports Snakemake's plugins
    gc.collect()
    gc.freeze()  # else a fork's first collection copies all of it
    while True:
        ready, _, _ = select.select([server, sys.stdin], [], [])
        if sys.stdin in ready:  # closed: the parent has ended
            return
        channel, _ = server.accept()
        if not os.fork():
            server.close()
            _attend(channel)
        channel.close()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _attend(channel: socket.socket) -> None:
    """Fork the command that the channel asks for and send its exit status; kill it if the channel closes."""
    files = array.array("i")
    size, data, *_ = channel.recvmsg(12, socket.CMSG_SPACE(3 * files.itemsize))
    files.frombytes(data[0][2])
    with channel.makefile("rb") as orders:
        order = json.loads(orders.read(int(size)))
    if not (child := os.fork()):
        channel.close()
        _become(*order, files)
    ended = os.pidfd_open(child)
    ready, _, _ = select.select([channel, ended], [], [])
    if ended not in ready:
        os.kill(child, 15)
    _, status = os.waitpid(child, 0)
    with suppress(BrokenPipeError):
        channel.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _become(module: str, words: list[str], cwd: str, env: dict[str, str], files) -> None:
    """Run the command in this process and exit."""
    import atexit
    import runpy
    import threading

    for number, opened in enumerate(files):
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    script = os.path.join(os.path.dirname(sys.executable), module)
    if module == "snakemake":  # which puts the folder of this first on its jobs' PATH
        sys.executable = os.path.join(os.path.dirname(env[ADDRESS + "0"]), "python")
    added = filter(None, env.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:1] = [os.path.dirname(script) if module == "snakemake" else cwd, *added]
    sys.argv = [script, *words]
    code = 1
    try:
        if module.endswith(".py"):
            runpy.run_path(module, run_name="__main__")
        else:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if code and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    # As the interpreter ends, but without tearing down imported modules, which takes a second.
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code & 0xFF)


def _shim(words: list[str]) -> None:
    """Run what was typed after `python`: a step in a fork, anything else as it is."""
    address = os.environ.get(ADDRESS + _value(os.environ))
    if words[:1] == ["-m"] and words[1].startswith("workflow.") and address:
        sys.exit(_forked(address, words[1], words[2:], os.getcwd(), dict(os.environ), [0, 1, 2]))
    if ".snakemake/scripts/" in words[0] and address:
        sys.exit(_forked(address, words[0], words[1:], os.getcwd(), dict(os.environ), [0, 1, 2]))
    os.execv(sys.executable, [sys.executable, *words])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        _serve(socket.socket(fileno=int(sys.argv[2])))
    else:
        _shim(sys.argv[1:])
