"""Answers as an H200 would give them, where there is none.

PyTorch and Triton ask which device there is before they compile anything. In the block
of ``pretended`` Python code gets the answers of an H200; with ``fake_cuda.py`` and
tensors without data, whole models are then traced and compiled, and nothing runs.
"""

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch

H200 = {
    "name": "NVIDIA H200",
    "major": 9,
    "minor": 0,
    "multi_processor_count": 132,
    "regs_per_multiprocessor": 65536,
    "max_threads_per_multi_processor": 2048,
    "max_threads_per_block": 1024,
    "warp_size": 32,
    "total_memory": 150_110_011_392,
    "shared_memory_per_block": 49152,
    "shared_memory_per_block_optin": 232448,
    "shared_memory_per_multiprocessor": 233472,
    "L2_cache_size": 62_914_560,
    "is_integrated": 0,
}
"""What ``torch.cuda.get_device_properties`` gives there."""


@contextlib.contextmanager
def pretended() -> Iterator[None]:
    """Answer what Python code asks of ``torch.cuda`` as an H200 would, in the block.

    What a compiled graph allocates is a tensor of the fake mode that is active.
    """
    with contextlib.ExitStack() as stack:
        for holder, name, answer in (*_of_torch(), *_of_triton()):
            stack.enter_context(mock.patch.object(holder, name, answer, create=True))
        yield


@contextlib.contextmanager
def inductor_launches(launched: Callable[..., None]) -> Iterator[None]:
    """Hand each launch of Inductor's to a function instead, in the block.

    Nothing is compiled to machine code, read from a cache or decided by timing; tensors
    without data may be mixed with others.

    Args:
        launched: Gets the kernel's tuner and its arguments.
    """
    from torch._inductor import config
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner
    from torch._subclasses.fake_tensor import FakeTensorMode

    with (
        config.patch(
            force_disable_caches=True,
            size_asserts=False,
            alignment_asserts=False,
            shape_padding=False,  # decided by timing products
        ),
        mock.patch.object(CachingAutotuner, "run", launched),
        mock.patch.object(CachingAutotuner, "precompile", lambda self, *a, **k: None),
        pretended(),
        FakeTensorMode(allow_non_fake_inputs=True),
    ):
        yield


def _of_torch() -> Iterator[tuple[Any, str, Any]]:
    """Yield what is replaced in torch: where, its name, what takes its place."""
    from torch._dynamo.device_interface import CudaInterface
    from torch._subclasses.fake_tensor import FakeTensorMode

    properties = SimpleNamespace(**H200)
    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "is_initialized": lambda: False,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_properties": lambda device=None: properties,
        "get_device_capability": lambda device=None: (9, 0),
        "get_device_name": lambda device=None: properties.name,
        "is_bf16_supported": lambda *args, **kwargs: True,
        "synchronize": lambda device=None: None,
        "set_device": lambda device: None,
        "empty_cache": lambda: None,
        "_lazy_init": lambda: None,
        "_exchange_device": lambda device: 0,
        "_maybe_exchange_device": lambda device: 0,
        "mem_get_info": lambda device=None: (H200["total_memory"],) * 2,
        "current_stream": lambda device=None: SimpleNamespace(
            cuda_stream=0, stream_id=0, device_index=0
        ),
        "get_rng_state": lambda device="cuda": torch.zeros(16, dtype=torch.uint8),
        "set_rng_state": lambda state, device="cuda": None,
        "_DeviceGuard": lambda index: contextlib.nullcontext(),
    }
    for name, answer in answers.items():
        yield torch.cuda, name, answer
        if name in CudaInterface.__dict__ and name != "is_available":
            yield CudaInterface, name, staticmethod(answer)
    yield CudaInterface, "get_raw_stream", staticmethod(lambda index: 0)
    yield torch.version, "cuda", "13.0"
    yield torch._C, "_cuda_getCurrentRawStream", lambda index: 0
    # constants are made on the CPU first
    yield FakeTensorMode, "avoid_device_init", property(lambda self: True)
    yield _folding_on_the_cpu()
    guards: Any = torch._C._dynamo.guards
    yield (
        guards,
        "_empty_strided_cuda",
        lambda size, stride, dtype: torch.empty_strided(
            size, stride, dtype=dtype, device="cuda"
        ),
    )
    yield (
        guards,
        "_reinterpret_tensor",
        lambda tensor, size, stride, offset=0: torch.as_strided(
            tensor, size, stride, tensor.storage_offset() + offset
        ),
    )


def _folding_on_the_cpu() -> tuple[Any, str, Any]:
    """Return the replacement that lets Inductor compute its constants."""
    from torch._inductor.fx_passes.joint_graph import UniformValueConstantFolder

    plain: Any = UniformValueConstantFolder._deduce_value

    def deduced(self: Any, node: Any) -> Any:
        kept = node.kwargs
        if "device" in kept:
            node.kwargs = {**kept, "device": torch.device("cpu")}
        try:
            return plain(self, node)
        finally:
            node.kwargs = kept

    return UniformValueConstantFolder, "_deduce_value", deduced


def _of_triton() -> Iterator[tuple[Any, str, Any]]:
    """Yield what is replaced in Triton, which looks for a driver."""
    import triton
    from torch._inductor.runtime import triton_helpers
    from triton.backends.compiler import GPUTarget

    active = SimpleNamespace(
        get_current_target=lambda: GPUTarget("cuda", 90, 32),
        get_current_device=lambda: 0,
        get_current_stream=lambda device=None: 0,
    )
    yield triton.runtime.driver, "_active", active
    yield triton_helpers, "set_driver_to_gpu", lambda: None
