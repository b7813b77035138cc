"""Training on two processes gives the loss of one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch.distributed as dist

PROGRAM = Path(__file__).with_name("distributed_training.py")


@pytest.mark.skipif(not dist.is_available(), reason="torch without distributed")
@pytest.mark.parametrize("kind", ["ddp", pytest.param("fsdp", marks=pytest.mark.slow)])
def test_two_processes_train_as_one(kind: str, repository: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(repository),
        "OMP_NUM_THREADS": "1",
    }
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *launch, str(PROGRAM), kind],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    graphs, worst = done.stdout.splitlines()[-1].split()
    assert int(graphs) > 1, "little was compiled"
    assert float(worst) < 1e-5
