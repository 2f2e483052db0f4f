"""Short digests of a result's inputs."""

import hashlib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def digest(*parts: bytes) -> str:
    """Return 16 hexadecimal digits of the SHA-256 of the parts."""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
