"""Print the Software Heritage identifier (SWHID) of the commit that is checked out, by which a release is cited.

A directory's is the hash of git's tree. So anyone who has the files can compute it, without the repository.
"""

import argparse
import subprocess
from pathlib import Path

from kernels.errors import InputError
from workflow.lib import step


def of_head(project: Path) -> str:
    """swh:1:dir:… of HEAD. Raises InputError where the folder is no git checkout, or is not as it was committed."""
    if not (project / ".git").exists():
        raise InputError(f"{project.resolve()}: no git checkout, so the files may not be a commit's: clone it with git")
    if changed := git(project, "status", "--porcelain"):
        first = changed.splitlines()[0]
        raise InputError(f"{project.resolve()}: not as it was committed ({first}): commit or undo all changes first")
    return f"swh:1:dir:{git(project, 'rev-parse', 'HEAD^{tree}')}"


def git(project: Path, *words: str) -> str:
    """What git prints. Raises InputError where it fails."""
    try:
        return subprocess.run(["git", *words], cwd=project, capture_output=True, text=True, check=True).stdout.rstrip()
    except FileNotFoundError:
        raise InputError("git: no such command: install git first") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip().splitlines()[:1]
        raise InputError(f"git {' '.join(words)} in {project.resolve()}: {''.join(said)}: mend that first") from None


def main(args: argparse.Namespace) -> None:
    print(of_head(args.project))


if __name__ == "__main__":
    arguments = step.parser(__doc__)
    arguments.add_argument("--project", type=Path, default=Path("."), help="the folder with .git")
    step.run(main, arguments)
