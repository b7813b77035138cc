"""From a tensor and a map to the backend that fits, with every precondition checked."""

import warnings
from functools import cache
from typing import Literal, get_args

import torch

from compiler.errors import (
    BackendError,
    BuildError,
    NotATensorError,
    OutputError,
    SizeMismatchError,
)

from .cpp_backend import load_kernels, prepare, run_cpp
from .index_map import IndexMap
from .torch_backend import run_torch

Backend = Literal["auto", "cpp", "triton", "interpreter", "torch"]


def check_tensor(tensor: object) -> torch.Tensor:
    """Return ``tensor`` if it is a dense tensor with data.

    Raises:
        NotATensorError: It is something else.
    """
    if not isinstance(tensor, torch.Tensor):
        raise NotATensorError(
            "a torch.Tensor was needed, got tensor of type "
            f"{type(tensor).__name__}; torch.as_tensor(...) converts arrays and lists",
            type_name=type(tensor).__name__,
        )
    kinds = {
        "meta": tensor.is_meta,
        "nested": tensor.is_nested,
        "quantized": tensor.is_quantized,
        str(tensor.layout): tensor.layout != torch.strided,
    }
    for kind, found in kinds.items():
        if found:
            raise NotATensorError(
                f"a dense tensor with data was needed, got one of kind={kind}, "
                f"dtype={tensor.dtype}; convert it first, for example with .to_dense()",
                type_name=type(tensor).__name__,
            )
    return tensor


def check_size(tensor: torch.Tensor, map: IndexMap) -> None:
    """Check that the map fits a whole number of times.

    Raises:
        SizeMismatchError: It does not; has ``numel`` and ``bits``.
    """
    if tensor.numel() % (1 << map.bits):
        raise SizeMismatchError(
            f"the layout permutes 2**{map.bits} = {1 << map.bits} elements, so "
            f"numel must be a multiple of that, got numel={tensor.numel()}, "
            f"shape={tuple(tensor.shape)}; pad the tensor or use a layout with as "
            "many index bits as the part to permute",
            numel=tensor.numel(),
            bits=map.bits,
        )


def check_out(
    out: object, tensor: torch.Tensor, *, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """Return ``out`` if it can take the result, of the input's or another dtype.

    Raises:
        OutputError: Wrong shape, dtype, device or strides; or it shares memory with
            the input.
    """
    if not isinstance(out, torch.Tensor):
        raise OutputError(
            f"out must be a torch.Tensor, got out of type {type(out).__name__}; leave "
            "it away to get a new tensor"
        )
    dtype = dtype or tensor.dtype
    for name in ("shape", "dtype", "device", "layout"):
        needed = dtype if name == "dtype" else getattr(tensor, name)
        got = getattr(out, name)
        if needed != got:
            raise OutputError(
                f"out must have the input's {name}: needed {name}={needed}, got "
                f"out.{name}={got}; torch.empty(tensor.shape, dtype={dtype}, "
                "device=tensor.device) fits"
            )
    if not out.is_contiguous() or out.is_conj() or out.is_neg():
        raise OutputError(
            f"out must be contiguous and no lazy conjugate, got strides={out.stride()} "
            f"for shape={tuple(out.shape)}; permute into a new tensor and copy it"
        )
    if tensor.numel() and _overlap(_extent(tensor), _extent(out)):
        raise OutputError(
            "out must not share memory with the input, got spans "
            f"out={_span(out)}, tensor={_span(tensor)}; a permutation cannot work in "
            "place, give it a tensor of its own"
        )
    if torch.is_grad_enabled() and (tensor.requires_grad or out.requires_grad):
        raise OutputError(
            "out cannot be differentiated through, got "
            f"tensor.requires_grad={tensor.requires_grad}, "
            f"out.requires_grad={out.requires_grad}; leave out away, or detach both"
        )
    return out


def permute_data(
    tensor: torch.Tensor, map: IndexMap, out: torch.Tensor | None, backend: Backend
) -> torch.Tensor:
    """Permute without recording a derivative; the arguments are checked already.

    Raises:
        BackendError: The backend is unknown or does not run on this device.
        BuildError: ``backend`` is ``"cpp"`` and the kernels cannot be built.
    """
    chosen = choose(backend, tensor.device)
    source = tensor.detach().resolve_conj().resolve_neg().contiguous()
    width = source.element_size()
    if source.data_ptr() % width:
        source = source.clone()
    result = torch.empty_like(source) if out is None else out.detach()
    target = torch.empty_like(source) if result.data_ptr() % width else result
    if source.numel():
        if chosen == "cpp":
            if out is None:
                prepare(result)
            run_cpp(source, target, map)
        elif chosen == "torch":
            run_torch(source, target, map)
        else:
            from .triton_backend import run_triton

            run_triton(source, target, map, interpret=chosen == "interpreter")
    if target is not result:
        result.copy_(target)
    return result if out is None else out


def choose(backend: Backend, device: torch.device) -> Backend:
    """Return the backend that runs, never ``"auto"``.

    Raises:
        BackendError: It is unknown, or does not run on this device.
    """
    if backend not in get_args(Backend):
        raise BackendError(
            f"backend must be one of {', '.join(get_args(Backend))}; got "
            f"backend={backend!r}"
        )
    homes = {"cpp": "cpu", "interpreter": "cpu", "triton": "cuda"}
    home = homes.get(backend)
    if home is not None and device.type != home:
        raise BackendError(
            f"backend={backend!r} runs on {home} tensors, got device={device}; move "
            f"the tensor with .to({home!r}) or leave backend at 'auto'",
            device=str(device),
        )
    if backend != "auto":
        return backend
    if device.type == "cpu":
        return _cpu_default()
    return "triton" if device.type == "cuda" else "torch"


@cache
def _cpu_default() -> Backend:
    try:
        load_kernels()
    except BuildError as error:
        warnings.warn(
            f"compiler.permute uses PyTorch's slower indexing on the CPU: {error}",
            RuntimeWarning,
            stacklevel=5,
        )
        return "torch"
    return "cpp"


def _extent(tensor: torch.Tensor) -> tuple[int, int]:
    """Return the first byte address of a nonempty tensor and the one after its last."""
    reach = sum(
        (size - 1) * stride
        for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
    )
    first = tensor.data_ptr()
    return first, first + (reach + 1) * tensor.element_size()


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _span(tensor: torch.Tensor) -> str:
    first, end = _extent(tensor)
    return f"[{first:#x}, {end:#x})"
