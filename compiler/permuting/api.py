"""The public function: permute a tensor by an index map."""

from typing import TYPE_CHECKING

from algebra import AffineLayout, LinearLayout

if TYPE_CHECKING:
    import torch

    from .execute import Backend
    from .pointwise import Pointwise


def permute(
    tensor: "torch.Tensor",
    layout: LinearLayout | AffineLayout,
    out: "torch.Tensor | None" = None,
    *,
    backend: "Backend" = "auto",
    pointwise: "Pointwise | None" = None,
    element_bits: int | None = None,
) -> "torch.Tensor":
    """Move each element of a tensor to the place that a layout gives its index.

    Law: ``out.flatten()[layout(i)] == tensor.flatten()[i]`` for every i below 2**bits,
    and the same in each of ``batch`` consecutive parts, where
    ``numel == batch * 2**bits``. (Published gather lists, such as Marlin's, are the
    inverse map: ``out[i] = in[list[i]]``.)

    Indices of the flat tensor are numbers; a layout has named dims. A map with one
    in-dim and one out-dim (by custom ``index``) is taken as it is. Several in-dims or
    out-dims are flattened minor to major: **the first dim is the most minor one**, so
    it takes the lowest bits of the index. For a row-major tensor list the last axis
    first.

    Elements are moved as opaque bytes: any dtype of 1, 2, 4, 8 or 16 bytes. Gradients
    flow back through the inverse map.

    Args:
        tensor: Dense, any strides and offset, on the CPU or a GPU [batch * 2**bits
            elements]. It is not changed.
        layout: An invertible map of index bits.
        out: Takes the result: contiguous, of the input's shape, dtype and device, and
            no memory in common with it. None makes a new tensor.
        backend: ``"auto"`` is the Triton kernel on a GPU and the C++ kernel on the CPU
            (where g++ is missing, PyTorch's indexing, with one warning). By name:
            ``"cpp"``, ``"triton"``, ``"interpreter"`` (the Triton kernel in Triton's
            interpreter, slow), ``"torch"``.
        pointwise: Scale, bias and cast on the way. On an NVIDIA GPU that is one kernel,
            elsewhere two steps. ``out`` has its dtype.
        element_bits: 4 to permute half bytes, two to a byte of the tensor, low half
            first. None stands for the tensor's own elements [bits].

    Returns:
        ``out``, or a new contiguous tensor of the input's shape.

    Raises:
        NotInvertibleError: The map is not a bijection; shows a kernel vector.
        UnsupportedLayoutError: ``layout`` is no layout.
        NotATensorError: ``tensor`` is no dense tensor.
        SizeMismatchError: The number of elements is no multiple of 2**bits.
        OutputError: ``out`` does not fit, or overlaps the input.
        BackendError: The backend does not run on the tensor's device.
        BuildError: ``backend="cpp"`` without a working compiler.
        PointwiseError: ``pointwise`` does not fit the tensor.

    Example:
        >>> import torch
        >>> from algebra import LinearLayout
        >>> flip = LinearLayout.from_bases(
        ...     {"index": [[2], [1]]}, {"index": 4})  # swaps the two index bits
        >>> permute(torch.arange(8), flip).tolist()
        [0, 2, 1, 3, 4, 6, 5, 7]

    Source: bit-matrix-multiply-complement permutations (T. H. Cormen et al.), in one
    pass by the tile of ``compiler.permuting``.
    """
    # torch is loaded on the first call, not by `import compiler`
    from .dispatch import dispatch

    return dispatch(tensor, layout, out, backend, pointwise, element_bits)
