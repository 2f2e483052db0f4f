"""Launches laid out before their phase's clock starts: for kernels that take less time than that takes Python."""

from collections.abc import Callable

from kernels.device import Prepared, Run, gpu_visible


def ready(run: Run, *launches: tuple) -> Callable[[], None]:
    """What launches them in turn and waits after each, as run.launch(*launches) would without run.graph."""
    if not gpu_visible():
        return lambda: run.launch(*launches)
    prepared = Prepared(launches)

    def launch():
        prepared.launch(1)
        run.launches += len(launches)

    return launch
