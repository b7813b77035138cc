import subprocess
import sys
from pathlib import Path

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
