import json
import subprocess
import sys
from pathlib import Path

import pytest

from verify.pytest_plugin import check_device, warm_up

pytest_plugins = ["pytester"]

TEST = """
import torch, triton, triton.language as tl

@triton.jit
def kernel(x, y, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + o, tl.load(x + o), mask=o < n)

def test_it():
    for n in (100, 1000):
        kernel[(triton.cdiv(n, 64),)](torch.empty(n), torch.empty(n), n, B=64)
"""


def test_a_run_with_a_wrong_kernel_fails_and_says_so(
    tmp_path: Path, repository: Path
) -> None:
    (tmp_path / "test_kernel.py").write_text(TEST)
    words = [
        "-p",
        "verify.pytest_plugin",
        "--check-kernels",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", *words, str(tmp_path / "test_kernel.py")],
        cwd=tmp_path,
        env={"PYTHONPATH": str(repository), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 1, answer.stdout + answer.stderr
    assert "Triton kernels" in answer.stdout
    assert "right where n % 64 == 0" in answer.stdout


LAYOUTS = """
import os
from verify.given_layouts import given_layouts

@given_layouts(max_examples=40)
def test_small(bijection):
    assert bijection.invert().invert() == bijection
    if os.environ.get("BROKEN"):
        assert sum(map(len, bijection.bases.values())) < 3

def test_device(tilewright_device):
    assert tilewright_device == "cpu"
"""


@pytest.mark.slow
def test_a_failing_layout_is_kept_as_json_and_tried_first(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, repository: Path
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(repository))
    monkeypatch.setenv("BROKEN", "1")
    pytester.makepyfile(test_layouts=LAYOUTS)
    words = [
        *("-p", "verify.pytest_plugin", "-p", "no:cacheprovider", "-q"),
        *("--tilewright-examples", "kept"),
    ]
    pytester.runpytest_subprocess(*words).assert_outcomes(passed=1, failed=1)
    (kept,) = (pytester.path / "kept").glob("*.json")
    drawn = json.loads(kept.read_text())["drawn"]["bijection"]
    assert drawn["type"] == "layout" and sum(map(len, drawn["bases"].values())) == 3
    # without hypothesis' database the same example fails again, and goes when it passes
    again = pytester.runpytest_subprocess(*words, "-p", "no:hypothesispytest")
    again.assert_outcomes(passed=1, failed=1)
    monkeypatch.delenv("BROKEN")
    pytester.runpytest_subprocess(*words).assert_outcomes(passed=2)
    assert not kept.exists()


def test_a_device_that_is_not_there_is_refused() -> None:
    check_device("cpu")
    with pytest.raises(pytest.UsageError, match="cpu, cuda or cuda:N"):
        check_device("gpu")
    with pytest.raises(pytest.UsageError, match="leave the option out"):
        check_device("cuda:99")


def test_warming_up_runs_on_any_device() -> None:
    warm_up("cpu")


GPU = """
import pytest, torch
from hypothesis import settings

def test_no_deadline(tilewright_device):
    assert settings.default.deadline is None and tilewright_device == "cuda"
"""


def test_on_a_gpu_there_is_no_deadline_and_it_is_warm_first(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, repository: Path
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(repository))
    # a machine with a GPU, as far as the plugin asks
    pytester.makepyfile(
        fake_gpu="import torch, verify.pytest_plugin as plugin\n"
        "torch.cuda.is_available = lambda: True\n"
        "torch.cuda.device_count = lambda: 1\n"
        "plugin.warm_up = lambda device: print('warm', device)\n",
        test_gpu=GPU,
    )
    done = pytester.runpytest_subprocess(
        *("-p", "fake_gpu", "-p", "verify.pytest_plugin", "-s", "-q"),
        *("--tilewright-device", "cuda", "-p", "no:cacheprovider"),
    )
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["*warm cuda*"])
