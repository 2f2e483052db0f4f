"""The steps, each run by `python -m`. numba's settings are checked here, before a step's imports read them."""

import sys

from kernels import settings
from kernels.errors import reported

with reported(sys.exit):
    settings.check()
