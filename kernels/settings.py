"""numba's settings in a file of the working directory, checked before numba's import reads them."""

from pathlib import Path

from kernels.errors import InputError

FILE = Path(".numba_config.yaml")


def check() -> None:
    """Raise InputError if numba cannot read its file of settings."""
    if not FILE.is_file():
        return
    try:
        import yaml
    except ImportError:  # numba then ignores the file
        return
    try:
        with FILE.open() as file:
            found = yaml.safe_load(file) or {}
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        said = " ".join(str(error).split())
        raise InputError(f"{FILE}: numba cannot read it ({said}): correct or delete it") from None
    if not (isinstance(found, dict) and all(isinstance(key, str) for key in found)):
        raise InputError(f"{FILE}: not a mapping of numba's settings (opt: 3): correct or delete it")
