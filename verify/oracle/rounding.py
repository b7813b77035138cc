"""How far rounding can move each element of a program's results.

No fixed tolerance says whether a compiled program is wrong: a sum that cancels may be
off by all its digits and a copy by none. So the program is run several times with each
floating result moved at random by up to half a unit in its last place, and what the
runs differ by is what rounding explains (discrete stochastic arithmetic; J. Vignes,
1993). A compiler may keep more digits than eager mode, so half types count with their
own unit and nothing is assumed about the order of sums.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from .lanes import Scalar, differ
from .liberties import in_other_order, set_bits_of_nans
from .outcome import outcome, shared

RUNS = 8
"""Perturbed runs: one with all results up, one with all down, the others mixed."""

MARGIN = 8.0
"""The bound is so many times the largest deviation seen, and as many units in the last
place of the result."""

_HALVES = (torch.float16, torch.bfloat16)

_EXACT = {
    "clone", "copy_", "view", "permute", "slice", "select", "expand", "unsqueeze",
    "squeeze", "as_strided", "transpose", "t", "detach", "alias", "_unsafe_view",
    "flip", "roll", "repeat", "index", "gather", "cat", "stack", "neg", "abs", "sign",
    "maximum", "minimum", "where", "clamp", "relu", "floor", "ceil", "trunc", "round",
    "constant_pad_nd", "index_select", "masked_fill", "zeros_like", "full_like",
    "fill_", "zero_", "lift_fresh", "split", "unbind", "diagonal", "unfold", "empty",
    "sort", "topk", "max", "min", "amax", "amin", "embedding", "triu", "tril", "full",
    "scalar_tensor", "arange", "index_put", "scatter", "split_with_sizes", "view_as",
    "contiguous", "empty_like", "empty_strided", "new_empty_strided", "eye", "isnan",
    "zeros", "ones", "ones_like", "new_zeros", "new_ones", "new_full", "new_empty",
    "select_scatter", "slice_scatter", "diagonal_scatter", "as_strided_scatter",
}  # fmt: skip
"""Operators that round nothing."""

_MAKES_NANS = (
    "maximum", "minimum", "relu", "floor", "ceil", "trunc", "round", "clamp",
    "amax", "amin", "max", "min", "aminmax",
)  # fmt: skip
"""Exact operators of which vectors make a NaN up, and scalars take an operand's."""

_ACCUMULATES = {
    "sum", "mean", "nansum", "prod", "cumsum", "cumprod", "var", "std", "var_mean",
    "mm", "bmm", "addmm", "baddbmm", "dot", "mv", "addmv", "convolution",
    "linalg_vector_norm", "convolution_backward", "native_batch_norm",
    "native_layer_norm_backward", "native_group_norm_backward",
    "native_batch_norm_backward", "index_add",
    "scatter_add", "scatter_reduce", "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention_for_cpu_backward", "logcumsumexp",
    "embedding_dense_backward", "avg_pool2d", "upsample_bilinear2d", "trace",
    "_fused_rms_norm", "_embedding_bag",
}  # fmt: skip
"""Operators that round sums inside: their operands are moved too, so that a sum that
cancels is as uncertain as its terms make it, whatever its order."""


@cache
def _decompositions() -> Mapping[Any, Callable[..., Any]]:
    """Return the pieces of smooth composites, by operator."""
    aten = torch.ops.aten
    table: Mapping[Any, Callable[..., Any]] = torch._decomp.get_decompositions(
        [
            aten.gelu,
            aten.gelu_backward,
            aten.silu,
            aten.mish,
            aten.mish_backward,
            aten.elu,
            aten.softplus,
            aten.hardswish,
            aten.native_layer_norm,
            aten.native_group_norm,
            aten._softmax,
            aten._log_softmax,
            aten.logsumexp,
            aten.log_sigmoid_forward,
            aten.addcmul,
            aten.addcdiv,
            aten.lerp,
            aten.std,
            aten.var_mean,
        ]
    )
    return table


@cache
def _textbook(divided: bool) -> Mapping[Any, Callable[..., Any]]:
    """Return normalisations and derivatives as formulas write them, by operator.

    Eager mode's kernels multiply out: for numbers near the largest, a product overflows
    that the formula has not, and 0 * inf is NaN.

    Args:
        divided: Whether a mean is a sum of quotients, which overflows only if the mean
            does, and not the quotient of a sum.
    """
    moments = partial(_moments, divided=divided)
    aten = torch.ops.aten
    table: Mapping[Any, Callable[..., Any]] = torch._decomp.get_decompositions(
        [
            aten.native_layer_norm,
            aten.native_layer_norm_backward,
            aten.native_group_norm,
            aten.native_group_norm_backward,
            aten.native_batch_norm,
            aten.native_batch_norm_backward,
        ]
    )
    return {
        **table,
        aten.var_mean.correction: moments,
        aten.var_mean.dim: partial(_moments_of_old, divided=divided),
        aten.var.correction: lambda *args, **more: moments(*args, **more)[0],
    }


def _moments(
    x: torch.Tensor,
    dim: Sequence[int] | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    divided: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return variance and mean in two passes.

    Eager mode goes on from mean to mean, and a difference of two large numbers may
    overflow there that no sum does.
    """
    dims = tuple(range(x.dim())) if not dim else tuple(dim)
    wide = x.float() if x.dtype in _HALVES else x
    count = math.prod(x.shape[d] for d in dims)
    mean = wide.mean(dims, keepdim=True)
    if divided:
        mean = (wide / count).sum(dims, keepdim=True)
    rest = max(count - (1.0 if correction is None else correction), 0.0)
    squares = (wide - mean).square().sum(dims, keepdim=keepdim)
    middle = mean if keepdim else mean.reshape(squares.shape)
    return (squares / rest).to(x.dtype), middle.to(x.dtype)


def _moments_of_old(
    x: torch.Tensor,
    dim: Sequence[int],
    unbiased: bool = True,
    keepdim: bool = False,
    divided: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    correction = float(unbiased)
    return _moments(x, dim, correction=correction, keepdim=keepdim, divided=divided)


class _AsWritten(TorchDispatchMode):
    """Take the operators of :func:`_textbook` apart, and what they are made of."""

    def __init__(self, divided: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.divided = divided

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        parts = _textbook(self.divided).get(func)
        if parts is None:
            return func(*args, **(kwargs or {}))
        with self:
            return parts(*args, **(kwargs or {}))


def _batch_norm_in_double(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    mean: torch.Tensor | None,
    var: torch.Tensor | None,
    training: bool,
    *rest: Any,
) -> tuple[torch.Tensor, ...]:
    """Return batch normalisation of a half type whose statistics stay in float32.

    Eager mode rounds them to the half type before it uses them.
    """
    wide = [None if v is None else v.float() for v in (weight, bias, mean, var)]
    out, *saved = torch.ops.aten.native_batch_norm(x.float(), *wide, training, *rest)
    for old, new in zip((mean, var), wide[2:], strict=True):
        if training and old is not None and new is not None:
            old.copy_(new)
    kept = next((v.dtype for v in (weight, mean) if v is not None), x.dtype)
    return (out.to(x.dtype), *(value.to(kept) for value in saved))


_BY_TYPE = (
    *(torch.ops.aten.erf.default, torch.ops.aten.div.Tensor_mode),
    *(torch.ops.aten.sinh.default, torch.ops.aten.cosh.default),
)
"""Operators whose kernels for half types, and the last ones for all, are apart."""


def _in_double(func: Any, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Return what an operator makes of float64 copies, in the type of the first.

    Eager mode's vectors of half types lose small arguments of ``erf`` in
    ``1 - (1 - erf(x))``, and round a quotient before it loses its fraction, where a
    single element does not; those of float32 overflow early in ``sinh``.
    """
    wide = tree_map_only(torch.Tensor, torch.Tensor.double, args)
    kind = args[0].dtype if args[0].dtype.is_floating_point else torch.float32
    found: torch.Tensor = func(*wide, **kwargs)
    return found.to(kind)


def _quotient_first(
    x: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, value: float = 1
) -> torch.Tensor:
    """Return ``addcdiv`` as TorchDynamo writes it.

    Eager mode takes ``value * a`` first, which may lose its digits to the least floats.
    """
    return x + value * (a / b)


def _sixth_of_float64(slope: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return the gradient of ``hardsigmoid`` by the formula.

    Eager mode's kernel has a sixth as a float32 for all types.
    """
    return torch.where((x > -3) & (x < 3), slope * (1 / 6), torch.zeros_like(slope))


@cache
def _functional(func: Any) -> Any:
    """Return the operator that returns what another writes over its first argument."""
    name = func._schema.name.partition("::")[2]
    if not name.endswith("_") or name.endswith("__"):
        return func
    packet = getattr(torch.ops.aten, name[:-1], None)
    return getattr(packet, func._overloadname, func)


class _Moved(TorchDispatchMode):
    """Move each floating result by up to half a unit in its last place."""

    def __init__(self, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seed = seed
        self.generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        plain = _functional(func)
        parts = _decompositions().get(plain)
        if plain is torch.ops.aten.addcdiv.default and self.seed % 2:
            parts = _quotient_first
        if plain is torch.ops.aten.hardsigmoid_backward.default and self.seed % 2:
            parts = _sixth_of_float64
        halves = bool(args) and getattr(args[0], "dtype", None) in _HALVES
        single = bool(args) and getattr(args[0], "dtype", None) != torch.float64
        apart = _BY_TYPE if halves else _BY_TYPE[2:] if single else ()
        if self.seed % 2 and plain in apart:
            parts = partial(_in_double, plain)
        batch_norm = func is torch.ops.aten.native_batch_norm.default
        if batch_norm and self.seed % 2 and halves:
            parts = _batch_norm_in_double
        if parts is not None:
            # a composite rounds inside: 1 + erf(x) cancels, and the mode must see it
            with self:
                made = parts(*args, **(kwargs or {}))
            return made if plain is func else args[0].copy_(made)
        name = func._schema.name.partition("::")[2]
        if name in _ACCUMULATES:
            args = tree_map_only(torch.Tensor, self._moved_copy, args)
        out = None
        if self.seed % 2 and name.removesuffix("_") in _ACCUMULATES:
            named, run = kwargs or {}, self.seed // 2
            out = in_other_order(func, args, named, run, self.generator)
        if out is None:
            out = func(*args, **(kwargs or {}))
        if self.seed < 2 and name.removesuffix("_") in _MAKES_NANS:
            tree_map_only(
                torch.Tensor, lambda made: set_bits_of_nans(made, bool(self.seed)), out
            )
        written = name.endswith("_") or "out" in (kwargs or {})
        if name in _EXACT or (func._schema.is_mutable and not written):
            return out
        if isinstance(out, torch.Tensor):
            return self._moved(out)
        if isinstance(out, tuple | list):
            return type(out)(
                self._moved(o) if isinstance(o, torch.Tensor) else o for o in out
            )
        return out

    def _moved_copy(self, value: torch.Tensor) -> torch.Tensor:
        if value.dtype not in (torch.float32, torch.float64):
            return value  # sums of half types are accumulated in float32
        return self._moved(value.clone(), given=True)

    def _moved(self, value: torch.Tensor, given: bool = False) -> torch.Tensor:
        if not value.dtype.is_floating_point or not value.numel():
            return value
        numbers = torch.finfo(value.dtype)
        noise = torch.rand(value.shape, generator=self.generator, dtype=torch.float64)
        if self.seed < 2:  # all up, all down: what stands at an edge falls over it
            noise = torch.full_like(noise, float(self.seed))
        wide = value.detach().to(torch.float64)
        # below the least normal number the unit is that of the number itself
        unit = numbers.eps * wide.abs().clamp_min(numbers.tiny)
        shifted = wide + wide.sign() * (noise - 0.5) * 2 * unit
        # the move must survive the rounding back: half types often round it away
        movable = torch.isfinite(wide) & (wide != 0)  # a zero keeps its sign
        shifted = torch.where(movable, shifted, wide)
        if given or self.seed >= 2:  # what is finite stays so
            most = torch.full_like(wide, numbers.max).masked_fill(~movable, math.inf)
            shifted = shifted.clamp(-most, most)
        value.copy_(torch.where(torch.isnan(wide), value, shifted.to(value.dtype)))
        # nothing says which bits a computed NaN has
        if self.seed < 2 and not given:
            set_bits_of_nans(value, bool(self.seed))
        return value


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """What a program returns, and how far a right answer may be off.

    Attributes:
        values: Eager mode's results, and the arguments after the run, see
            :func:`outcome.leaves`; gradients come last.
        bounds: Largest permitted deviation of each element (float64), None where the
            results must be equal, bit for bit but for the payload of a NaN.
        loose: Elements of which nothing can be said: a rounding elsewhere changes a
            comparison, a NaN or an integer, or they are random.
        error: What eager mode raised, None if it ran.
        shared: Which of them lie in one storage.
        is_open: Whether rounding can change the path that the program takes, so that
            nothing can be said about any value.
        zeros: Elements that are a zero of either sign; empty where none is.
    """

    values: tuple[Any, ...]
    bounds: tuple[torch.Tensor | None, ...]
    loose: tuple[torch.Tensor | None, ...]
    error: Exception | None = None
    shared: frozenset[tuple[int, int]] = frozenset()
    is_open: bool = False
    zeros: tuple[torch.Tensor | None, ...] = ()


def eager(
    function: Callable[..., Sequence[Any]],
    build: Callable[[], list[Any]],
    *,
    gradients: bool = False,
    random: Collection[int] = (),
) -> Expected:
    """Run a program as it is; nothing may be off, but what is random.

    Law: what agrees with this agrees with :func:`expected`, which takes longer.

    Args:
        function: Takes the arguments, returns a sequence.
        build: Makes fresh arguments, the same each time.
        gradients: Whether gradients are wanted too.
        random: Places (numbers of results and arguments) whose elements are random.
    """
    plain = _run(function, build(), gradients)
    if isinstance(plain, Exception):
        return Expected((), (), (), plain)
    values = tuple(_copied(leaf) for _, leaf in plain)
    loose = tuple(
        _all_loose(leaf) if place in random else None for place, leaf in plain
    )
    return Expected(values, (None,) * len(values), loose, None, shared(plain))


def expected(
    function: Callable[..., Sequence[Any]],
    build: Callable[[], list[Any]],
    *,
    gradients: bool = False,
    random: Collection[int] = (),
) -> Expected:
    """Run a program as it is and perturbed; arguments as of :func:`eager`."""
    plain = eager(function, build, gradients=gradients, random=random)
    if plain.error is not None:
        return plain
    moved: list[list[Any]] = []
    for seed in range(RUNS):
        inputs = build()  # as they are: only what is computed moves
        with _Moved(seed):
            run = _run(function, inputs, gradients)
        if isinstance(run, Exception) or not _alike(plain.values, run):
            return replace(plain, is_open=True)
        moved.append([leaf for _, leaf in run])
    others: list[list[tuple[int, Any]]] = []
    for divided in (False, True):
        with _AsWritten(divided):
            other = _run(function, build(), gradients)
        if isinstance(other, Exception) or not _alike(plain.values, other):
            return replace(plain, is_open=True)
        others.append(other)
    with Scalar():  # type: ignore[no-untyped-call]
        lanes = _run(function, build(), gradients)
    if isinstance(lanes, Exception) or not _alike(plain.values, lanes):
        return replace(plain, is_open=True)
    bounds: list[torch.Tensor | None] = []
    loose: list[torch.Tensor | None] = []
    zeros: list[torch.Tensor | None] = []
    for number, value in enumerate(plain.values):
        bound, free, either = None, plain.loose[number], None
        if isinstance(value, torch.Tensor) and free is None:
            bound, free = _spread(value, [run[number] for run in moved])
            for other in others:
                free = _or_overflows(value, other[number][1], free)
                free = _or_turns(value, other[number][1], free)
                if bound is None and _has_other_zeros(value, other[number][1]):
                    bound = torch.zeros(value.shape, dtype=torch.float64)
            apart = differ(value, lanes[number][1])
            signs = apart & (value == lanes[number][1].detach())
            if bool(signs.any()):
                either, apart = signs, apart & ~signs
            if bool(apart.any()):
                free = apart if free is None else apart | free
        bounds.append(bound)
        loose.append(free)
        zeros.append(either)
    return replace(plain, bounds=tuple(bounds), loose=tuple(loose), zeros=tuple(zeros))


def _run(
    function: Callable[..., Sequence[Any]], given: list[Any], gradients: bool
) -> list[tuple[int, Any]] | Exception:
    try:
        return outcome(function, given, gradients=gradients)
    except Exception as error:
        return error


def _alike(values: Sequence[Any], run: Sequence[tuple[int, Any]]) -> bool:
    """Whether a run has the same leaves: strings, and shapes of tensors."""
    if len(values) != len(run):
        return False
    for value, (_, leaf) in zip(values, run, strict=True):
        if isinstance(value, torch.Tensor) != isinstance(leaf, torch.Tensor):
            return False
        if isinstance(value, torch.Tensor):
            if value.shape != leaf.shape:
                return False
        elif value != leaf:
            return False
    return True


def _all_loose(value: Any) -> torch.Tensor | None:
    if isinstance(value, torch.Tensor):
        return torch.ones(value.shape, dtype=torch.bool)
    return None


def _copied(value: Any) -> Any:
    """Return a copy with the same strides, overlapping ones too."""
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach()
    reach = sum((n - 1) * s for n, s in zip(value.shape, value.stride(), strict=True))
    if not value.numel():
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
    flat = value.as_strided((reach + 1,), (1,), value.storage_offset()).clone()
    return flat.as_strided(value.shape, value.stride(), 0)


def _or_overflows(
    value: torch.Tensor, other: torch.Tensor, free: torch.Tensor | None
) -> torch.Tensor | None:
    """Add to the free elements those that overflow in one of two ways to compute."""
    if not value.dtype.is_floating_point:
        return free
    differ = torch.isfinite(value) != torch.isfinite(other.detach())
    if not bool(differ.any()):
        return free
    return differ if free is None else differ | free


def _or_turns(
    value: torch.Tensor, other: torch.Tensor, free: torch.Tensor | None
) -> torch.Tensor | None:
    """Add to the free elements integers that are others in one of two ways."""
    if value.dtype.is_floating_point or value.dtype.is_complex:
        return free
    turned = value != other.detach()
    if not bool(turned.any()):
        return free
    return turned if free is None else turned | free


def _has_other_zeros(value: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether two ways to compute give zeros of different signs."""
    if not value.dtype.is_floating_point:
        return False
    other = other.detach()
    zeros = (value == 0) & (other == 0)
    return bool((zeros & (value.signbit() != other.signbit())).any())


def _spread(
    value: torch.Tensor, others: Sequence[torch.Tensor]
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    if not value.dtype.is_floating_point:
        free = torch.zeros(value.shape, dtype=torch.bool)
        for other in others:
            free |= other != value
        return None, free if bool(free.any()) else None
    wide = value.to(torch.float64)
    finite = torch.isfinite(wide)
    free = torch.zeros(value.shape, dtype=torch.bool)
    largest = torch.zeros(value.shape, dtype=torch.float64)
    for other in others:
        moved = other.detach().to(torch.float64)
        free |= torch.isfinite(moved) != finite
        free |= torch.isnan(moved) != torch.isnan(wide)
        largest = torch.maximum(largest, torch.nan_to_num((moved - wide).abs(), 0.0))
    if not bool((largest > 0).any()):
        return None, free if bool(free.any()) else None
    unit = torch.finfo(value.dtype).eps * torch.nan_to_num(wide.abs(), 0.0, 0.0, 0.0)
    # eight runs may all miss an element; what is no integer is no constant either
    touched = (largest > 0) | (finite & (wide != wide.round()))
    # vector units may flush what is below the least normal number
    flushed = torch.finfo(value.dtype).tiny
    allowed = MARGIN * (largest + unit) + flushed
    bound = torch.where(touched, allowed, torch.zeros_like(largest))
    return bound, free if bool(free.any()) else None
