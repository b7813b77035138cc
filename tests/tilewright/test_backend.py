"""The front door of the compiler, also where a tool fails or a process dies."""

import os
import stat
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from compiler import torch_api
from compiler.codegen.triton import build
from compiler.errors import FallbackWarning
from compiler.frontend import kernels
from compiler.runtime.triton_kernel import TritonKernel
from tilewright import backend

PROGRAM = """
import torch
import tilewright.backend  # noqa: F401
def f(x, w):
    return torch.softmax(x @ w + 1, -1).sum(0)
x, w = torch.linspace(0, 1, 12).view(3, 4), torch.linspace(-1, 1, 20).view(4, 5)
w.requires_grad_()
compiled = torch.compile(f, backend="tilewright")
y = compiled(x, w)
(y * torch.arange(5.0)).sum().backward()
got = w.grad.clone()
w.grad = None
(f(x, w) * torch.arange(5.0)).sum().backward()
torch.testing.assert_close(y, f(x, w))
torch.testing.assert_close(got, w.grad)
print("right")
"""

COUNTING = """
from compiler.frontend.graph_cache import COUNTS
print(dict(COUNTS))
"""


def run_child(
    program: str, cache: Path, repository: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TILEWRIGHT_CACHE": str(cache), **variables}
    environment["PYTHONPATH"] = str(repository)
    return subprocess.run(
        [sys.executable, "-W", "always::UserWarning", "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_modes_and_options_are_understood() -> None:
    choices: list[dict[str, Any]] = [
        {"mode": "max-autotune"},
        {"options": {"lower": False}},
    ]
    for arguments in choices:
        torch_api.reset()
        compiled = torch.compile(torch.sin, backend="tilewright", **arguments)
        x = torch.randn(3)
        torch.testing.assert_close(compiled(x), x.sin())


@pytest.mark.parametrize(
    "options", [{"certfy": True}, {"mode": "quick"}, {"threads": 0}]
)
def test_unknown_options_are_errors(options: dict[str, Any]) -> None:
    torch_api.reset()
    compiled = torch.compile(torch.sin, backend="tilewright", options=options)
    with pytest.raises(Exception, match="OptionError"):
        compiled(torch.randn(3))


def test_the_validator_is_wired() -> None:
    assert backend._validator() is not None
    torch_api.reset()
    compiled = torch.compile(
        lambda x: x.exp() * 2, backend="tilewright", options={"certify": True}
    )
    x = torch.randn(5)
    torch.testing.assert_close(compiled(x), x.exp() * 2)


def test_emitted_text_is_proved_and_a_refuted_one_does_not_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Triton's printer on the CPU, in the interpreter; then a mask that is too wide."""
    interpreted = partial(build, interpret=True)
    monkeypatch.setattr(kernels, "_builder", lambda device: interpreted)
    plain = TritonKernel.ttir
    seen: list[str] = []

    def text(self: TritonKernel) -> str:
        seen.append(plain(self))
        return seen[-1]

    def wrong(self: TritonKernel) -> str:
        assert "dense<100>" in plain(self)
        return plain(self).replace("dense<100>", "dense<128>")

    def run() -> None:
        torch_api.reset()
        compiled = torch.compile(
            lambda x: x * 2 + 1,
            backend="tilewright",
            options={"certify": "ttir", "cache": False},
        )
        x = torch.randn(100)
        torch.testing.assert_close(compiled(x), x * 2 + 1)

    monkeypatch.setattr(TritonKernel, "ttir", text)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        run()
    assert seen
    monkeypatch.setattr(TritonKernel, "ttir", wrong)
    with pytest.warns(FallbackWarning, match=r"test_backend.py.*ttir_in_bounds"):
        run()


def test_without_a_compiler_the_users_line_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "/nowhere/g++")
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    torch_api.reset()

    def f(x: torch.Tensor) -> torch.Tensor:
        return x.cos() * 17.25

    x = torch.randn(6)
    with pytest.warns(FallbackWarning, match=r"test_backend.py.*C\+\+ compiler"):
        result = torch.compile(f, backend="tilewright")(x)
    torch.testing.assert_close(result, f(x))


def test_without_fallback_it_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "/nowhere/g++")
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    torch_api.reset()
    compiled = torch.compile(
        lambda x: x.cos() * 18.25, backend="tilewright", options={"fallback": False}
    )
    with pytest.raises(Exception, match=r"CompileError.*C\+\+ compiler"):
        compiled(torch.randn(6))


@pytest.mark.slow
def test_a_second_process_builds_nothing(tmp_path: Path, repository: Path) -> None:
    log = tmp_path / "log"
    compiler = script(tmp_path / "cxx", f'echo built >> {log}\nexec g++ "$@"')
    first = run_child(PROGRAM, tmp_path / "cache", repository, CXX=compiler)
    assert first.stdout == "right\n", first.stderr
    count = log.read_text().count("built")
    assert count > 0
    second = run_child(PROGRAM, tmp_path / "cache", repository, CXX=compiler)
    assert second.stdout == "right\n", second.stderr
    assert log.read_text().count("built") == count


@pytest.mark.slow
def test_a_second_process_needs_no_compiler(tmp_path: Path, repository: Path) -> None:
    program = PROGRAM + COUNTING
    first = run_child(program, tmp_path / "cache", repository)
    assert first.stdout == "right\n{'stored': 2}\n", first.stderr
    nowhere = {"PATH": str(tmp_path), "CXX": ""}
    second = run_child(program, tmp_path / "cache", repository, **nowhere)
    assert second.stdout == "right\n{'found': 2}\n", second.stderr
    assert "FallbackWarning" not in second.stderr
    for entry in (tmp_path / "cache").glob("*.graph"):
        entry.write_bytes(entry.read_bytes()[:-9])
    third = run_child(program, tmp_path / "cache", repository, **nowhere)
    assert third.stdout == "right\n{'not kept': 2}\n", third.stderr
    assert "FallbackWarning" in third.stderr and "C++ compiler" in third.stderr


@pytest.mark.slow
def test_a_process_that_dies_while_compiling_leaves_a_good_cache(
    tmp_path: Path, repository: Path
) -> None:
    cache = tmp_path / "cache"
    killer = script(
        tmp_path / "cxx", 'for o; do :; done; echo half > "$o"\nkill -9 $PPID\nsleep 1'
    )
    dead = run_child(PROGRAM, cache, repository, CXX=killer)
    assert dead.returncode != 0 and "right" not in dead.stdout
    again = run_child(PROGRAM, cache, repository)
    assert again.stdout == "right\n", again.stderr
    assert "FallbackWarning" not in again.stderr


@pytest.mark.slow
def test_processes_compile_the_same_at_once(tmp_path: Path, repository: Path) -> None:
    environment = {**os.environ, "TILEWRIGHT_CACHE": str(tmp_path)}
    environment["PYTHONPATH"] = str(repository)
    children = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    assert [child.communicate()[0] for child in children] == ["right\n"] * 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["refuses", "full"])
def test_a_failing_compiler_costs_speed_only(
    tmp_path: Path, repository: Path, kind: str
) -> None:
    texts = {
        "refuses": "echo error: internal compiler error >&2; exit 1",
        "full": "echo error: No space left on device >&2; exit 1",
    }
    compiler = script(tmp_path / "cxx", texts[kind])
    done = run_child(PROGRAM, tmp_path / "cache", repository, CXX=compiler)
    assert done.stdout == "right\n", done.stderr
    assert "FallbackWarning" in done.stderr and "error: " in done.stderr
    fixed = run_child(PROGRAM, tmp_path / "cache", repository)
    assert fixed.stdout == "right\n" and "FallbackWarning" not in fixed.stderr


@pytest.mark.slow
def test_a_cache_that_cannot_be_written(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run_child(PROGRAM, tmp_path / "file" / "below", repository)
    assert done.stdout == "right\n", done.stderr
    assert "FallbackWarning" not in done.stderr


STRIDES = """
import torch
from torch._subclasses import FakeTensorMode
def nested():
    with FakeTensorMode() as mode:
        x = torch.empty(1, 1, 2, 1).as_strided((1, 1, 2, 1), (3, 4, 1, 6))
        y = torch.empty(8).as_strided((1, 1, 2, 1, 1), (3, 4, 1, 6, 6))
        return torch.copysign(x, y).stride()
before = nested()
import tilewright.backend
print(before != nested() == (4, 4, 2, 1, 4))
"""


def test_strides_are_corrected_before_the_first_graph_is_captured(
    tmp_path: Path, repository: Path
) -> None:
    done = run_child(STRIDES, tmp_path, repository)
    assert done.stdout == "True\n", done.stderr


DELETING = """
import sys
import torch
# PyTorch's own partitioner takes its common subexpressions from there
import torch._inductor.pattern_matcher
generators = ("codegen", "compile_fx", "graph", "scheduler", "select_algorithm")
for name in list(sys.modules):
    if name.startswith(tuple("torch._inductor." + part for part in generators)):
        sys.modules[name] = None
for part in generators:
    sys.modules["torch._inductor." + part] = None
    if hasattr(torch._inductor, part):
        delattr(torch._inductor, part)
"""


@pytest.mark.slow
def test_inductors_code_generators_are_not_needed(
    tmp_path: Path, repository: Path
) -> None:
    done = run_child(DELETING + PROGRAM, tmp_path, repository)
    assert done.stdout == "right\n", done.stderr
    assert "FallbackWarning" not in done.stderr
