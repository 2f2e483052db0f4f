"""What can go wrong by no fault of the program."""


class InputError(ValueError):
    """Bad input: one message that says what, where, and what to do about it."""


class NotEnoughMemory(RuntimeError):
    """A run does not fit in memory.

    needed, free: bytes; where: "the card" or "the host".
    """

    def __init__(self, needed: int, free: int, where: str = "the card"):
        super().__init__(f"needs {needed:,} bytes of memory on {where}, {free:,} are free")
        self.needed, self.free, self.where = needed, free, where


class TimeLimit(RuntimeError):
    """A run passed its time limit, in seconds, and was stopped."""

    def __init__(self, seconds: float):
        super().__init__(f"stopped after its limit of {seconds:g} s")
        self.seconds = seconds


class WrongResult(AssertionError):
    """A distance or predecessor that is not what the oracle says."""
