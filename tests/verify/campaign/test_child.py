"""The child's protocol is its own, whatever the subject prints."""

import os
import subprocess
import sys
import time
from collections.abc import Callable

from verify.campaign.case import Case
from verify.campaign.process import SubjectProcess

MakeCase = Callable[..., Case]


def test_what_a_subject_prints_does_not_reach_the_protocol(
    process: SubjectProcess, case: MakeCase
) -> None:
    answer = process.run(case("conftest:prints_garbage", "v0 = torch.exp(x0)"))
    assert answer["status"] == "ok", answer


def test_a_child_ends_with_its_parent() -> None:
    program = (
        "import os, subprocess, sys; child = subprocess.Popen([sys.executable, '-c', "
        "'from verify.campaign.child import die_with_parent; import time; "
        "die_with_parent(); print(1, flush=True); time.sleep(60)'], "
        "stdout=subprocess.PIPE, start_new_session=True); child.stdout.readline(); "
        "print(child.pid)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    pid = int(done.stdout)
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError(f"process {pid} outlived its parent")
