"""A private Slurm: slurmctld and a slurmd with three GPUs, run by the user who runs the tests.

The GPUs are device files that only count. There is no munge, no accounting database, and no file outside the folder.
"""

import getpass
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

CONF = """
ClusterName=test
SlurmctldHost=localhost
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
KillWait=5
MinJobAge=3600
GresTypes=gpu
NodeName=localhost CPUs=5 RealMemory=64000 Gres=gpu:model:3
PartitionName=cpu Nodes=ALL Default=YES
PartitionName=gpu Nodes=ALL
PartitionName=other Nodes=ALL
"""
CARDS = ("/dev/null", "/dev/zero", "/dev/full")
DAEMONS = (("slurmctld",), ("slurmd", "-N", "localhost"))


def find(program: str) -> str | None:
    """Return the path of a program of Slurm; daemons are often not in PATH."""
    return shutil.which(program, path=os.pathsep.join((os.environ["PATH"], "/usr/sbin", "/usr/local/sbin")))


class Slurm:
    """environment: of commands that talk to this Slurm."""

    def __init__(self, folder: Path):
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "SBATCH"))},
            "SLURM_CONF": str(folder / "slurm.conf"),
            "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        }

    def run(self, *words: str) -> str:
        """Return the output of a Slurm command."""
        ran = subprocess.run(words, env=self.environment, capture_output=True, text=True, check=True, timeout=60)
        return ran.stdout

    def jobs(self, folder: Path) -> list[dict[str, str]]:
        """Return Slurm's records of all jobs, also ended ones, that were submitted from a folder."""
        records = self.run("scontrol", "--oneliner", "show", "job").splitlines()
        jobs = [dict(re.findall(r"(\S+?)=(\S*)", record)) for record in records]
        return [job for job in jobs if job.get("WorkDir") == str(folder)]


def wait_for(condition, what: str, seconds: float = 60) -> None:
    """Return as soon as the condition holds; raise RuntimeError after so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"waited {seconds:g} s for {what}")
        time.sleep(0.1)


@contextmanager
def started(folder: Path) -> Iterator[Slurm]:
    """Start a Slurm with its files in the folder; cancel its jobs and stop its daemons at the end."""
    slurm = Slurm(folder)
    for name in ("state", "spool", "bin"):
        (folder / name).mkdir()
    (folder / "slurm.conf").write_text(CONF.format(user=getpass.getuser(), folder=folder, ports=_free_ports(2)))
    (folder / "gres.conf").write_text(
        "".join(f"NodeName=localhost Name=gpu Type=model File={card}\n" for card in CARDS)
    )
    # The executor runs srun without SLURM_CONF: this srun knows it.
    srun = folder / "bin" / "srun"
    srun.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {find("srun")} "$@"\n')
    srun.chmod(0o755)
    with ExitStack() as stack:
        for program, *options in DAEMONS:
            stack.enter_context(_daemon([find(program), "-D", *options], slurm.environment, folder / f"{program}.out"))
        wait_for(lambda: _state(slurm) == "idle", "an idle node")
        try:
            yield slurm
        finally:
            slurm.run("scancel", "--user", getpass.getuser())
            wait_for(lambda: _state(slurm) == "idle", "the end of all jobs")


@contextmanager
def _daemon(command: list[str], environment: dict[str, str], output: Path):
    with open(output, "w") as file:
        daemon = subprocess.Popen(command, env=environment, stdout=file, stderr=subprocess.STDOUT)
        try:
            yield
        finally:
            daemon.terminate()
            daemon.wait(timeout=30)


def _state(slurm: Slurm) -> str:
    try:
        return slurm.run("sinfo", "--noheader", "--partition", "gpu", "--format", "%t").strip()
    except subprocess.CalledProcessError:
        return "not up yet"


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("localhost", 0))) for _ in range(count)]
        return [s.getsockname()[1] for s in sockets]
