"""A Triton driver without a GPU: kernels are compiled for an H200 and not launched.

Scripts for a GPU use it in processes that only fill Triton's cache on disk, and
``rehearse_gpu.py`` runs whole scripts with it. What Triton does before a launch is
done: arguments are bound and specialised, the kernel is compiled to machine code,
shared memory is compared with what a multiprocessor has. What a driver says to a
kernel's shared memory is said too. ``launched`` has what would have run.
"""

import struct
from types import SimpleNamespace
from typing import Any

import triton
from triton.backends.compiler import GPUTarget

from compiler.codegen.gluon.declared import launch_fault

RESERVED = 1024
"""Shared memory of each program that the system keeps [bytes]."""
MOST_SHARED = 232448
"""Shared memory of a program [bytes]."""
MOST_THREADS = 1024

launched: list[tuple[str, tuple[int, int, int]]] = []
"""Kernel and grid of each launch."""


class _Launcher:
    """Stands for the launcher that Triton builds for a list of argument types."""

    def __init__(self, source: Any, metadata: Any) -> None:
        from triton.backends.nvidia import driver

        self.name = metadata.name
        make = getattr(driver, "make_launcher", None)
        if make is None:
            return
        constants = {
            (source.fn.arg_names.index(key),) if isinstance(key, str) else key: value
            for key, value in getattr(source, "constants", {}).items()
        }
        types = dict(enumerate(source.signature.values()))
        make(constants, types, getattr(metadata, "tensordesc_meta", None))

    def __call__(self, x: int, y: int, z: int, *_: Any) -> None:
        if not (0 < x < 2**31 and 0 < y < 65536 and 0 < z < 65536):
            raise ValueError(f"needed a grid that a GPU takes, got {(x, y, z)}")
        launched.append((self.name, (x, y, z)))


def declared_bytes(cubin: bytes) -> int:
    """Return the shared memory that a kernel declares, as its machine code says.

    Args:
        cubin: An ELF file of one kernel, for compute capability 9.0.
    """
    place, size, count, names = struct.unpack_from("<40xQ10xHHH", cubin)
    sections = [
        struct.unpack_from("<I20xQQ", cubin, place + size * number)
        for number in range(count)
    ]
    start = sections[names][1]
    for name, _, length in sections:
        if cubin.startswith(b".nv.shared.", start + name):
            kept = cubin.startswith(b".nv.shared.reserved", start + name)
            if not kept and length:
                return max(0, int(length) - RESERVED)
    return 0


def load_binary(name: str, cubin: bytes, shared: int, device: int) -> tuple[int, ...]:
    """Return what a driver does: module, function, registers, spills, most threads.

    Raises:
        RuntimeError: the kernel cannot be launched, or reads wrong places.
    """
    fault = launch_fault(declared_bytes(cubin), shared)
    if fault:
        raise RuntimeError(f"shared memory of {name}: {fault}")
    return (1, 1, 0, 0, MOST_THREADS)


def loadable(compiled: Any) -> Any:
    """Return a compiled kernel whose machine code a driver takes.

    Raises:
        RuntimeError: as ``load_binary``.
    """
    shared = compiled.metadata.shared
    load_binary(compiled.metadata.name, compiled.asm["cubin"], shared, 0)
    return compiled


class FakeDriver:
    """What Triton asks of a driver, of one H200."""

    launcher_cls = _Launcher
    utils = SimpleNamespace(
        get_device_properties=lambda device: {
            "max_shared_mem": MOST_SHARED,
            "multiprocessor_count": 132,
            "warpSize": 32,
        },
        load_binary=load_binary,
    )

    def get_current_target(self) -> GPUTarget:
        """Return compute capability 9.0."""
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        """Return the only one."""
        return 0

    def get_current_stream(self, device: int) -> int:
        """Return the default one."""
        return 0

    def get_active_torch_device(self) -> Any:
        """Return where tensors are instead."""
        import torch

        return torch.device("cpu")


def install() -> None:
    """Make it this process's driver."""
    triton.runtime.driver.set_active(FakeDriver())
