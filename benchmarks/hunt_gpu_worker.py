"""A worker of ``hunt_gpu.py``: it says in JSON lines what its programs came to.

Each line has the ``seed`` that its programs were drawn from. With ``--apart``, those of
the first seed are compiled one by one, and each is named before it starts: the last
one named is what a worker died of.
"""

import argparse
import contextlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any
from unittest import mock

import torch

from benchmarks.hunt_gpu_programs import Case, drawn, joined, kept


class DeadDeviceError(RuntimeError):
    """The GPU refuses all further work of this process."""


class Builds:
    """Tells the kernels that the compiler builds, in this process alone.

    Attributes:
        texts: Of each kernel that has a program, since the last batch began.
    """

    def __init__(self, mode: str, arch: int) -> None:
        from compiler.frontend import kernels
        from compiler.runtime.triton_pool import POOL

        POOL.size = 0  # the other workers take the other cores
        self.mode, self.arch = mode, arch
        self.texts: list[str] = []
        self.plain = kernels._builder
        kernels._builder = self.builder

    def builder(self, device: str) -> Callable[..., Any]:
        """Return what builds the kernels of a device, and remembers their text."""
        from compiler.codegen.triton import build
        from compiler.ir.index import constant_value
        from compiler.runtime.triton_kernel import TritonKernel

        plain = self.plain(device)

        def made(found: Iterable[Any], options: Any) -> Any:
            listed = list(found)
            built: Any
            if self.mode == "interpret":
                built = build(listed, options, interpret=True)
            else:
                built = plain(listed, options)
            for one in built.values():
                if not isinstance(one, TritonKernel):
                    continue
                if self.arch:
                    one.compile(arch=self.arch)
                if constant_value(one.printed.grid) != 0:  # else it does not run
                    self.texts.append(one.printed.source)
            return built

        return made


def differences(got: Sequence[Any], wanted: Sequence[Any], data: bool) -> list[str]:
    """Return how each result differs from eager mode's, "" where it is equal.

    Args:
        got: Results.
        wanted: Eager mode's.
        data: Whether they have values; they are compared with one wait for the GPU.
    """
    found = [_form(a, b) for a, b in zip(got, wanted, strict=True)]
    if data:
        for k, (value, other) in enumerate(zip(got, wanted, strict=True)):
            if value.device != other.device:
                found[k] = found[k] or "device"
    alike = [k for k, kind in enumerate(found) if not kind]
    if data and alike:
        flags = [(got[k] == wanted[k]).all() for k in alike]
        for k, equal in zip(alike, torch.stack(flags).tolist(), strict=True):
            found[k] = "" if equal else "value"
    return found


def _form(value: Any, other: Any) -> str:
    if value.shape != other.shape or value.dtype != other.dtype:
        return "shape or type"
    steps = zip(value.shape, value.stride(), other.stride(), strict=True)
    if value.numel() and any(n > 1 and a != b for n, a, b in steps):
        return "strides"
    return ""


class Worker:
    """Runs cases on one device.

    Attributes:
        mode: ``"run"``; ``"interpret"``: on the CPU, in Triton's interpreter;
            ``"pretend"``: kernels are compiled for a GPU that is not there.
    """

    def __init__(self, mode: str, arch: int) -> None:
        self.mode = mode
        self.device = "cpu" if mode == "interpret" else "cuda"
        self.builds = Builds(mode, arch)

    def alive(self) -> None:
        """Wait for the GPU.

        Raises:
            DeadDeviceError: What ran left it unusable.
        """
        if self.mode == "run":
            try:
                torch.cuda.synchronize()
            except Exception as error:
                raise DeadDeviceError(_first(error)) from error

    def eager(self, case: Case) -> tuple[list[Any], list[Any]]:
        """Return a case's arguments and what eager mode makes of them."""
        arguments = case.build(self.device)
        with torch.no_grad():
            return arguments, list(case.function()(*arguments))

    def compiled(self, cases: Sequence[Case], arguments: Sequence[Any]) -> list[Any]:
        """Return the results of cases that are compiled as one function."""
        from tilewright.backend import compile as backend  # needs no installation

        self.builds.texts = []
        torch.compiler.reset()
        function: Callable[..., list[Any]] = torch.compile(
            joined(cases),
            backend=backend,
            dynamic=False,
            options={"cache": False, "fallback": False},
        )
        with torch.no_grad():
            return function(*arguments)

    def answers(self, cases: Sequence[Case]) -> Iterator[dict[str, Any]]:
        """Run cases together; yield what came out, each case in one answer."""
        able, before = list[Case](), list[tuple[list[Any], list[Any]]]()
        for case in cases:
            try:
                before.append(self.eager(case))
            except Exception as error:
                self.alive()
                yield {"dropped": {f"eager mode on the GPU: {_first(error)}": 1}}
            else:
                able.append(case)
        if able:
            yield from self._compared(able, before)

    def _compared(
        self, cases: list[Case], before: list[tuple[list[Any], list[Any]]]
    ) -> Iterator[dict[str, Any]]:
        arguments = [one for given, _ in before for one in given]
        wanted = [one for _, values in before for one in values]
        owners = [n for n, (_, values) in enumerate(before) for _ in values]
        try:
            got = self.compiled(cases, arguments)
            kinds = differences(got, wanted, self.mode != "pretend")
        except Exception as error:
            self.alive()
            if len(cases) > 1:
                half = len(cases) // 2
                yield from self._compared(cases[:half], before[:half])
                yield from self._compared(cases[half:], before[half:])
                return
            yield _answer("refused", cases, kind=_first(error))
            return
        texts = [sha256(t.encode()).hexdigest()[:16] for t in self.builds.texts]
        wrong = {n: kind for n, kind in zip(owners, kinds, strict=True) if kind}
        if not wrong:
            yield _answer("ok", cases, texts)
            return
        if len(cases) == 1:
            yield _answer("wrong", cases, kind=wrong[0])
            return
        for n, kind in wrong.items():
            (alone,) = self._compared([cases[n]], [before[n]])
            if alone["status"] == "ok":  # it takes the others, which are shown
                alone = _answer("wrong", [cases[n]], kind=f"{kind}, among others")
                alone["together"] = [case.source for case in cases]
            yield alone
        rest = [n for n in range(len(cases)) if n not in wrong]
        if rest:
            yield from self._compared(
                [cases[n] for n in rest], [before[n] for n in rest]
            )


def _answer(
    status: str, cases: Sequence[Case], kernels: Sequence[str] = (), kind: str = ""
) -> dict[str, Any]:
    answer: dict[str, Any] = {"status": status, "programs": len(cases)}
    if kind:
        inputs = {name: repr(spec) for name, spec in cases[0].inputs.items()}
        return {**answer, "kind": kind, "source": cases[0].source, "inputs": inputs}
    return {**answer, "kernels": list(kernels)}


def _first(error: Exception) -> str:
    """Return what an error says, in short."""
    text = " ".join(str(error).partition("\n\n")[0].split())
    _, marked, reason = text.partition("had to be built: ")
    return f"{type(error).__name__}: {reason if marked else text}"[:200]


def _say(seed: int, answer: dict[str, Any]) -> None:
    print(json.dumps({"seed": seed, **answer}), flush=True)


@contextlib.contextmanager
def pretending() -> Iterator[None]:
    """Give all tensors no data, and kernels no launch."""
    from torch._subclasses import fake_tensor
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental import proxy_tensor

    from benchmarks.pretended_gpu import pretended
    from compiler.runtime.triton_kernel import TritonKernel

    with (
        pretended(),
        mock.patch.object(proxy_tensor, "CONSTANT_NUMEL_LIMIT", 0),  # no copy to a GPU
        mock.patch.object(TritonKernel, "__call__", lambda self, *arguments: None),
        mock.patch.object(
            fake_tensor, "init_gpu_context", lambda *args: None, create=True
        ),
        FakeTensorMode(allow_non_fake_inputs=True),
    ):
        yield


def work(seed: int, given: argparse.Namespace) -> None:
    """Run batches until the time is over; never returns where the GPU is lost."""
    torch.set_num_threads(1)
    end = time.monotonic() + given.deadline
    worker = Worker(given.mode, given.arch)
    apart = given.apart
    while time.monotonic() < end:
        _say(seed, {"began": True})
        start = time.monotonic()
        cases, dropped = kept(drawn(seed, given.batch, given.operations), worker.device)
        _say(seed, {"dropped": dropped, "drawing_s": time.monotonic() - start})
        groups = [[case] for case in cases] if apart else [cases]
        apart = False
        stage = pretending if given.mode == "pretend" else contextlib.nullcontext
        try:
            for group in groups:
                if len(groups) > 1:
                    _say(seed, {"running": group[0].source})
                with stage():
                    for answer in worker.answers(group):
                        _say(seed, answer)
        except DeadDeviceError as error:
            print(f"DeadDeviceError: {error}", file=sys.stderr, flush=True)
            os._exit(3)  # nothing can be torn down in order
        except Exception as error:
            traceback.print_exc()
            _say(seed, {"dropped": {f"the script itself: {_first(error)}": 1}})
        seed += 1
