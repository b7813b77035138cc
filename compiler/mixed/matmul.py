"""The public function: activations times a packed weight."""

from typing import TYPE_CHECKING

from algebra.errors import DimMismatchError
from compiler.errors import BackendError, NotATensorError, OutputError

if TYPE_CHECKING:
    import torch

    from .pack import PackedWeight
    from .tiling import Tiling


def quantised_matmul(
    x: "torch.Tensor",
    weight: "PackedWeight",
    *,
    out: "torch.Tensor | None" = None,
    tiling: "Tiling | None" = None,
) -> "torch.Tensor":
    """Return ``x @ w.T`` for a weight that ``preshuffle`` packed.

    On an NVIDIA GPU (sm_90 or later) that is one kernel that reads the narrow weight
    once and upcasts it in registers; sums are float32, scales are applied to them in
    float32, and the result is rounded once. On the CPU the weight is dequantised to
    float32 and multiplied there. Not differentiable: quantised weights are for
    inference.

    Args:
        x: Activations, of ``weight.dtype``, on its device [..., k].
        weight: What ``preshuffle`` returned.
        out: Takes the result: contiguous, of the right shape and type; None makes it.
        tiling: How the GPU kernel cuts the work; None chooses by the sizes.

    Returns:
        The product, of ``weight.dtype`` [..., n].

    Raises:
        NotATensorError: ``x`` is no tensor of ``weight.dtype``, or ``weight`` is not
            packed.
        DimMismatchError: The last extent of ``x`` is not k, or the tiling does not fit.
        BackendError: ``x`` and the weight are on different devices, or the GPU is an
            older one, or not the one that the tiling is for.
        OutputError: ``out`` cannot take the result.

    Example:
        >>> import torch
        >>> from compiler import preshuffle
        >>> codes = torch.randint(0, 16, (48, 128), dtype=torch.uint8)
        >>> packed = preshuffle(codes, torch.ones(48, 1), format="int4")
        >>> quantised_matmul(torch.ones(3, 128, dtype=torch.bfloat16), packed).shape
        torch.Size([3, 48])
    """
    import torch

    from .pack import PackedWeight

    if not isinstance(weight, PackedWeight):
        raise NotATensorError(
            "weight must be packed, got "
            f"weight={type(weight).__name__}; pass it through compiler.preshuffle"
        )
    problem = weight.problem
    if not isinstance(x, torch.Tensor) or x.dtype != weight.dtype:
        got = getattr(x, "dtype", type(x).__name__)
        raise NotATensorError(
            f"activations must be a tensor of {weight.dtype}, got dtype={got}; convert "
            "them, or pack the weight for their dtype"
        )
    if x.dim() < 1 or x.shape[-1] != problem.k:
        raise DimMismatchError(
            f"the last extent of the activations must be k={problem.k}, got "
            f"shape={tuple(x.shape)}"
        )
    if x.device != weight.weight.device:
        raise BackendError(
            "activations and weight must be on one device, got "
            f"x={x.device}, weight={weight.weight.device}; move one of them"
        )
    shape = (*x.shape[:-1], problem.n)
    if out is None:
        out = torch.empty(shape, dtype=x.dtype, device=x.device)
    elif (
        tuple(out.shape) != shape
        or out.dtype != x.dtype
        or out.device != x.device
        or not out.is_contiguous()
        or out.data_ptr() % 16
    ):
        raise OutputError(
            "out must be contiguous, aligned to 16 bytes, with "
            f"shape={shape}, dtype={x.dtype} on {x.device}, got "
            f"shape={tuple(out.shape)}, dtype={out.dtype} on {out.device}"
        )
    rows = x.detach().reshape(-1, problem.k)
    flat = out.view(-1, problem.n)
    if not flat.numel():
        return out
    if x.device.type == "cuda":
        from .launch import launch

        launch(rows.contiguous(), weight, flat, tiling)
    else:
        if tiling is not None:
            tiling.check(problem)
        flat.copy_(rows.float() @ weight.dequantise().T)
    return out
