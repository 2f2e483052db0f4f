"""Kernel launches, one after the other or side by side, which the host does not wait for."""

from cuda.bindings import driver

from kernels.gpu import card
from kernels.gpu.internals import checked
from kernels.gpu.launching import Prepared, check_arguments
from kernels.run import Run

STREAMS = 16  # on which launches that do not depend on each other run, at most
ALLOWED: dict[int, int] = {}  # bytes of shared memory that each kernel may have by now, by its handle


def enqueued(run: Run, *steps: tuple | list):
    """A function that launches the steps in order and does not wait until they have ended.

    A step is a launch, as Run.launch takes it, or a list of launches that may run side by side. A kernel may occur with
    several sizes of shared memory.
    """
    steps = [step if isinstance(step, list) else [step] for step in steps if step]
    launches = [launch for step in steps for launch in step]
    if not card.gpu_visible():
        return lambda: run.launch(*launches)
    check_arguments()
    if len(launches) > len(steps):
        go = SideBySide(steps).launch
    else:
        ready = Prepared(launches)
        allow_shared(ready)

        def go():
            ready._loop(1, stream=0, wait=False)

    def launch():
        go()
        run.launches += len(launches)

    return launch


def allow_shared(*launches: Prepared) -> None:
    """Raise each kernel's limit of shared memory to the most that was asked for in this process, and prefer it to L1.

    Prepared alone leaves it at what its last launch asks for.
    """
    attributes = driver.CUfunction_attribute
    for ready in launches:
        for handle, shared in zip(ready.handles.tolist(), ready.shared.tolist(), strict=True):
            ALLOWED[handle] = max(shared, ALLOWED.get(handle, 0))
    for handle in {handle for ready in launches for handle in ready.handles.tolist()}:
        for attribute, value in (
            (attributes.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, ALLOWED[handle]),
            (attributes.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100),  # per cent, for all the same: else a
            # multiprocessor ends one kernel before it starts the next
        ):
            if ALLOWED[handle]:
                checked(driver.cuKernelSetAttribute(attribute, value, handle, card.current().id))


class SideBySide:
    """A CUDA graph: steps follow each other, launches of one step may overlap."""

    def __init__(self, steps: list[list[tuple]]):
        self.kept = ready = [[Prepared([launch]) for launch in step] for step in steps]
        allow_shared(*(launch for step in ready for launch in step))
        for launch in (launch for step in ready for launch in step):
            # loads the kernel, which must not happen while launches are captured
            checked(driver.cuKernelGetFunction(int(launch.handles[0])))
        count = min(STREAMS, max(map(len, steps)))
        main, *others = (
            checked(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)) for _ in range(count)
        )
        events = []

        def wait(stream, on):
            events.append(checked(driver.cuEventCreate(driver.CUevent_flags.CU_EVENT_DISABLE_TIMING)))
            checked(driver.cuEventRecord(events[-1], on))
            checked(driver.cuStreamWaitEvent(stream, events[-1], 0))

        try:
            checked(driver.cuStreamBeginCapture(main, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
            for step in ready:
                used = others[: len(step) - 1]
                for stream in used:
                    wait(stream, main)
                for i, launch in enumerate(step):
                    launch._loop(1, stream=int([main, *others][i % count]), wait=False)
                for stream in used:
                    wait(main, stream)
            graph = checked(driver.cuStreamEndCapture(main))
            self.executable = checked(driver.cuGraphInstantiate(graph, 0))
            checked(driver.cuGraphDestroy(graph))
        finally:
            for event in events:
                checked(driver.cuEventDestroy(event))
            for stream in (main, *others):
                checked(driver.cuStreamDestroy(stream))

    def launch(self) -> None:
        checked(driver.cuGraphLaunch(self.executable, 0))

    def __del__(self):
        if hasattr(self, "executable"):
            driver.cuGraphExecDestroy(self.executable)
