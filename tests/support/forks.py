"""Calls in forked processes."""

import multiprocessing

import pytest

from kernels.errors import InputError

FORK = multiprocessing.get_context("fork")
forks = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")


def in_a_fork(call):
    """Return the result of a call, or the message of its InputError, in a forked process; fail if it hangs."""

    def answer():
        try:
            there.send(call())
        except InputError as error:
            there.send(str(error))

    here, there = FORK.Pipe(duplex=False)
    process = FORK.Process(target=answer)
    process.start()
    there.close()
    try:
        assert here.poll(60), "the forked process hangs"
        return here.recv()
    finally:
        process.kill()
        process.join()
