"""The operations that programs are made of: name -> template.

A template is an expression with holes (``scope`` says what fills each), or a statement
where it is in :data:`STATEMENTS`. Simplest first: a program shrinks towards them.
"""

from .module_operations import MODULES
from .random_operations import RANDOM, RANDOM_STATEMENTS, SUPPORT
from .reduction_operations import ORDERS, REDUCTIONS, REPEATED, SCANS
from .shaping_operations import JOINS, SHAPING
from .size_operations import BRANCHES, SIZE_STATEMENTS, SIZES_READ

UNARY = [
    "abs",
    "ceil",
    "cos",
    "erf",
    "exp",
    "expm1",
    "floor",
    "log",
    "log1p",
    "log2",
    "neg",
    "reciprocal",
    "relu",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "acos",
    "asin",
    "atan",
    "sinh",
    "cosh",
    "asinh",
    "exp2",
    "log10",
    "erfc",
    "lgamma",
    "frac",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
]

FUNCTIONAL = [
    "silu",
    "gelu",
    "elu",
    "selu",
    "softplus",
    "hardswish",
    "hardsigmoid",
    "hardtanh",
    "leaky_relu",
    "logsigmoid",
    "mish",
    "relu6",
    "celu",
    "softsign",
    "tanhshrink",
    "hardshrink",
    "softshrink",
]

BINARY = {
    "add": "{n} + {u}",
    "sub": "{n} - {un}",
    "mul": "{n} * {u}",
    "div": "{n} / {u}",
    "add_number": "{n} + {ci}",
    "mul_number": "{n} * {c}",
    "sub_number": "{c} - {n}",
    "div_number": "{n} / {c}",
    "add_scaled": "torch.add({n}, {un}, alpha={ci})",
    "floor_divide": "{f} // {uf}",
    "floor_divide_number": "{n} // {c}",
    "div_rounded": "torch.div({n}, {un}, rounding_mode={round})",
    "remainder": "torch.remainder({f}, {uf})",
    "remainder_number": "{n} % {ci}",
    "fmod": "torch.fmod({f}, {uf})",
    "pow_number": "{f} ** {p}",
    "pow": "torch.pow({f}, {uf})",
    "maximum": "torch.maximum({t}, {u})",
    "minimum": "torch.minimum({t}, {u})",
    "fmax": "torch.fmax({f}, {uf})",
    "atan2": "torch.atan2({f}, {uf})",
    "hypot": "torch.hypot({f}, {alike})",
    "copysign": "torch.copysign({f}, {uf})",
    "ldexp": "torch.ldexp({n}, {un})",
    "xlogy": "torch.xlogy({f}, {uf})",
    "logaddexp": "torch.logaddexp({f}, {alike})",
    "lerp": "torch.lerp({f}, {alike}, {c})",
    "addcmul": "torch.addcmul({f}, {alike}, {alike}, value={c})",
    "addcdiv": "torch.addcdiv({f}, {alike}, {alike}, value={c})",
    "gelu_tanh": "F.gelu({f}, approximate={tanh})",
}

CHOICES = {
    "eq": "{t} == {u}",
    "ne": "{t} != {u}",
    "lt": "{t} < {u}",
    "le": "{t} <= {u}",
    "gt": "{n} > {c}",
    "ge": "{t} >= {u}",
    "logical_and": "torch.logical_and({t}, {u})",
    "logical_or": "torch.logical_or({t}, {u})",
    "logical_xor": "torch.logical_xor({t}, {u})",
    "logical_not": "torch.logical_not({t})",
    "bitwise_and": "{i} & {ui}",
    "bitwise_or": "{i} | {ui}",
    "bitwise_xor": "{b} ^ {ub}",
    "bitwise_not": "~{i}",
    "shift_left": "{i} << {shift}",
    "shift_right": "{i} >> {shift}",
    "where": "torch.where({b}, {u}, {u})",
    "where_number": "torch.where({t} > 0, {like}, {c})",
    "clamp": "torch.clamp({n}, {o}, {k})",
    "clamp_min": "torch.clamp_min({n}, {o})",
    "clamp_tensor": "torch.clamp({f}, max={uf})",
    "nan_to_num": "torch.nan_to_num({f})",
    "threshold": "F.threshold({f}, {c}, {c})",
}

CASTS = {
    "to": "{t}.to({dtype})",
    "round_trip": "{f}.to({float}).to({f}.dtype)",
    "float": "{t}.float()",
    "clone": "{t}.clone()",
    "contiguous": "{t}.contiguous()",
    "view_dtype": "{t}.view({dtype})",
    "type_as": "{t}.type_as({t})",
    "float8_trip": "{f}.to(torch.float8_e4m3fn).float()",
    "int_trip": "{n}.to(torch.int8).to({it}.dtype)",
}

VIEWS = {
    "reshape": "{t}.reshape({reshape})",
    "view": "{t}.view({reshape})",
    "permute": "{t}.permute({perm})",
    "transpose": "{d2}.transpose({dim}, {dim})",
    "slice": "{d1}[{slices}]",
    "select": "{full1}.select({dim}, 0)",
    "unsqueeze": "{t}.unsqueeze(0)",
    "unsqueeze_last": "{t}.unsqueeze(-1)",
    "squeeze": "{t}.squeeze()",
    "expand": "{t}.expand({expand})",
    "flatten": "{t}.flatten()",
    "flip": "torch.flip({d1}, {dims})",
    "roll": "torch.roll({d1}, {o}, {dim})",
    "repeat": "{t}.repeat({repeats})",
    "repeat_interleave": "torch.repeat_interleave({d1}, {k}, dim={dim})",
    "diagonal": "torch.diagonal({d2}, {o})",
    "unfold": "{full1}.unfold({dim}, 1, {k})",
    "movedim": "torch.movedim({d1}, {dim}, {dim})",
    "narrow": "torch.narrow({full1}, {dim}, 0, 1)",
    "t": "{m}.t()",
    "chunk": "torch.chunk({full1}, {k}, {dim})[0]",
    "split": "torch.split({full1}, {k}, {dim})[-1]",
    "unbind": "torch.unbind({full1}, {dim})[0]",
    "triu": "torch.triu({d2}, {o})",
    "tril": "torch.tril({d2}, {o})",
    "rot90": "torch.rot90({d2})",
    "as_strided": "{full}.as_strided({as_strided})",
    "split_with_sizes": "torch.split({full1}, {split_sizes})[-1]",
    "alias": "{t}.detach()",
    "view_as": "{t}.view_as({like})",
    "ellipsis": "{d1}[..., None, :]",
    "reversed_strides": "{d2}.mT",
    "tile": "torch.tile({d1}, {repeats})",
    "tensor_split": "torch.tensor_split({d1}, {k}, {dim})[0]",
    "diag_embed": "torch.diag_embed({d1})",
    "unfold_overlapping": "{full1}.unfold({dim}, 2, 1)",
    "channels_last": "{image}.contiguous(memory_format=torch.channels_last)",
}

INDEXING = {
    "index": "{full1}[{indices}]",
    "index_select": "torch.index_select({full1}, 0, {positions})",
    "gather": "torch.gather({full1}, 0, {rows})",
    "take_along_dim": "torch.take_along_dim({full1}, {rows}, 0)",
    "index_fill": "torch.index_fill({full1}, 0, {positions}, {k})",
    "masked_fill": "torch.masked_fill({t}, {mask}, {k})",
    "embedding": "F.embedding({positions}, {m})",
    "one_hot": "F.one_hot({t}.flatten().long() % 4, 4)",
    "index_affine": "{full1}[(torch.arange({size}) * {k} + {k}) % {it}.shape[0]]",
    "index_divided": "{full1}[torch.arange({size}) // {k} % {it}.shape[0]]",
    "index_reversed": "{full1}[{it}.shape[0] - 1 - torch.arange({it}.shape[0])]",
    "index_two": (
        "{full2}[torch.arange({size}) % {it}.shape[0], "
        "torch.arange({size}) * {k} % {it}.shape[1]]"
    ),
    "index_floor": (
        "{full1}[torch.div(-torch.arange({it}.shape[0]), {k}, rounding_mode='floor')]"
    ),
    "index_mask": "{full1}[torch.arange({it}.shape[0]) % 2 == 0]",
    "where_position": "torch.where(torch.arange({f1}.shape[-1]) < {k}, {it}, 0.0)",
    "searchsorted": "torch.searchsorted(torch.tensor([-1.0, 0.0, 2.0]), {f})",
    "reflection_pad": "F.pad({image}, (1, 0, 0, 1), mode='reflect')",
    "replication_pad": "F.pad({image}, (1, 2, 0, 1), mode='replicate')",
    "embedding_bag": "F.embedding_bag({positions}, {m}, torch.tensor([0]))",
    "bucketize": "torch.bucketize({f}, torch.tensor([-1.0, 0.0, 2.0]))",
}

SCATTERS = {
    "index_add": "torch.index_add({full1}, 0, {positions}, {full1}[{positions}])",
    "scatter": "torch.scatter({full1}, 0, {rows}, {alike})",
    "scatter_add": "torch.scatter_add({full1}, 0, {rows}, {alike})",
    "scatter_amax": "torch.scatter_reduce({f1full}, 0, {rows}, {alike}, 'amax')",
    "index_put_add": (
        "torch.index_put({full1}, ({indices},), {full1}.sum(0), accumulate=True)"
    ),
    "select_scatter": "torch.select_scatter({full1}, {full1}.sum(0), 0, 0)",
    "slice_scatter": "torch.slice_scatter({full1}, {it}[:1], 0, 0, 1)",
    "as_strided_scatter": (
        "torch.as_strided_scatter({full1}, {it}.flatten()[:1], (1,), (1,))"
    ),
    "diagonal_scatter": "torch.diagonal_scatter({d2}, {it}.diagonal() * 0)",
    "index_copy": "torch.index_copy({full1}, 0, torch.tensor([0]), {it}[:1])",
    "scatter_reduce_sum": "torch.scatter_reduce({full1}, 0, {rows}, {alike}, 'sum')",
    "scatter_mean": (
        "torch.scatter_reduce({f1full}, 0, {rows}, {alike}, 'mean', include_self=False)"
    ),
    "index_reduce": "torch.index_reduce({f1full}, 0, {positions}, {it}[:1], 'amin')",
    "bincount": "torch.bincount({full1}.flatten().long() % 3)",
    "index_add_expanded": (
        "torch.index_add({full1}, 0, torch.zeros(3, dtype=torch.int64), "
        "{it}[:1].expand(3, *{it}.shape[1:]))"
    ),
    "index_put_expanded": (
        "torch.index_put({full1}, ({indices},), {it}[:1].clone(), accumulate=True)"
    ),
    "segment_sums": (
        "torch.zeros_like({n1full}).index_add(0, torch.arange({it}.shape[0]) // 2, "
        "{it})[torch.arange({it}.shape[0]) // 2]"
    ),
    "segment_counts": (
        "torch.zeros({k} + 1).index_add(0, torch.arange({full1}.shape[0]) % 2, "
        "torch.ones({it}.shape[0]))"
    ),
    "segment_weights": (
        "torch.zeros_like({f1full}).index_add(0, torch.arange({it}.shape[0]) // 2, "
        "{it}.exp())"
    ),
    "histogram": (
        "torch.zeros(2, dtype=torch.int64).index_add(0, "
        "({full1}.flatten() > 0).long(), torch.ones({it}.numel(), dtype=torch.int64))"
    ),
    "scatter_counts": ("torch.scatter_add({n1full}, 0, {rows}, torch.ones_like({it}))"),
    "scatter_shifted": "torch.scatter_add({f1full}, 0, {rows}, {it} + {ci})",
    "embedding_padded": "F.embedding({positions}, {m}, padding_idx=0)",
    "embedding_slopes": (
        "torch.ops.aten.embedding_dense_backward("
        "{m}, torch.arange({it}.shape[0]) % 3, 4, {k}, False)"
    ),
}

CREATION = {
    "zeros_like": "torch.zeros_like({t})",
    "full_like": "torch.full_like({n}, {ci})",
    "arange": "torch.arange({size}, dtype={float})",
    "arange_times": "torch.arange({size}) * {ci}",
    "arange_int": "torch.arange({size}, dtype=torch.int32)",
    "arange_large": "torch.arange({size}) * {large}",
    "arange_steps": "torch.arange(0, {size} * {large}, {large})",
    "linspace": "torch.linspace(0, 1, {size})",
    "eye": "torch.eye({size})",
    "empty_like_filled": "torch.empty_like({t}).fill_({k})",
    "constant": "torch.tensor({c})",
    "meshgrid": "torch.meshgrid(torch.arange(3), torch.arange({k}), indexing='ij')[1]",
    "new_empty_strided": ("{t}.new_empty_strided((2, {k}), (1, 2)).fill_({ci})"),
    "full": "torch.full(({k}, {k}), {c})",
    "scalar_tensor": "torch.scalar_tensor({c})",
    "logical_constant": "torch.tensor([True, False])[: {k}]",
    "grid": "torch.cartesian_prod(torch.arange({k}), torch.arange(2))",
}

WRITES = {
    "add_": "{n}.add_({k})",
    "mul_": "{n}.mul_({ci})",
    "fill_": "{n}.fill_({ci})",
    "zero_": "{t}.zero_()",
    "clamp_": "{n}.clamp_({o}, {k})",
    "relu_": "{f}.relu_()",
    "set_slice": "{d1}[{slices}] = {k}",
    "add_slice": "{d1}[{slices}] += {k}",
    "shift_in_place": "{full1}[1:] = {full1}[:-1].clone()",
    "index_put_": "{full1}[{indices}] = {k}",
    "index_add_": "{n1}.index_add_(0, torch.tensor([0, 0]), {alike}[:2])",
    "masked_fill_": "{t}.masked_fill_({mask}, {k})",
    "transpose_view_add_": "{d2}.transpose(0, 1).mul_({k})",
    "flatten_write": "{t}.view(-1)[:1].fill_({k})",
    "sub_": "{n}.sub_({k})",
    "div_": "{f}.div_({c})",
    "pow_": "{f}.pow_({k})",
    "bitwise_or_": "{i}.bitwise_or_({k})",
    "sigmoid_": "{f}.sigmoid_()",
    "select_write": "{full1}.select({dim}, 0).fill_({k})",
    "diagonal_write": "{d2}.diagonal().zero_()",
    "permuted_write": "{n}.permute(*reversed(range({it}.dim()))).add_({k})",
    "narrow_write": "torch.narrow({n1full}, {dim}, 0, 1).add_({k})",
    "unsqueeze_write": "{n}.unsqueeze(0).mul_({k})",
    "chunk_write": "torch.chunk({n1full}, 2, {dim})[0].mul_({k})",
    "strided_write": "{full}.as_strided((1,), (1,)).fill_({k})",
    "view_dtype_write": "{t}.view(torch.uint8).bitwise_and_(254)",
    "twice_written": "{d1}[::2] += {it}[::2] * 1",
    "overlapping_shift": "{full1}[:-1] = {it}[1:] + 0",
    "repeated_index_add": "{n1full}[{indices}] += {k}",
    "scatter_": "{full1}.scatter_(0, {rows}, {k})",
    "scatter_add_": "{full1}.scatter_add_(0, {rows}, {alike})",
    "scatter_reduce_": "{full1}.scatter_reduce_(0, {rows}, {alike}, 'amax')",
    "index_copy_": "{full1}.index_copy_(0, torch.tensor([0]), {alike}[:1])",
    "index_put_accumulate_": (
        "{n1full}.index_put_(({indices},), {it}[:1] * 0 + 1, accumulate=True)"
    ),
    "mask_write": "{t}[{it} == {it}] = {k}",
    "out": "torch.mul({f}, {c}, out={alike})",
    "transpose_": "{m}.t_()",
    "unsqueeze_": "{t}.unsqueeze_(0)",
    "squeeze_": "{t}.squeeze_()",
}
"""Statements that write into a tensor."""

EXCHANGES = {
    "copy_": "{t}.copy_({into})",
    "add_tensor_": "{f}.add_({into})",
    "sub_tensor_": "{f}.sub_({other})",
    "mul_tensor_": "{f}.mul_({into})",
    "addcmul_": "{f}.addcmul_({alike}, {other}, value={c})",
    "lerp_": "{f}.lerp_({alike}, 0.5)",
    "step": "{f}.mul_(0.5).add_({other})\n{that}.sub_({it})",
    "average": "{f}.lerp_({other}, 0.5)\n{that}.copy_({it})",
    "swap": "old = {t}.clone()\n{it}.copy_({other})\n{that}.copy_(old)",
    "rotate": "{f}.sub_({other})\n{that}.add_({it})",
    "leaky_total": "{f}.mul_({c}).add_({other})\n{that}.zero_()",
}
"""Statements that write into a tensor what others hold, as steps of training do."""

STATEMENTS = {**WRITES, **EXCHANGES, **SIZE_STATEMENTS, **RANDOM_STATEMENTS}
"""Statements whose value gets no name."""

EXPRESSIONS = {
    **{name: f"torch.{name}({{n}})" for name in UNARY},
    **BINARY,
    **CHOICES,
    **CASTS,
    **VIEWS,
    **REDUCTIONS,
    **ORDERS,
    **REPEATED,
    **SCANS,
    **INDEXING,
    **SCATTERS,
    **CREATION,
    **JOINS,
    **SHAPING,
    **{name: f"F.{name}({{f}})" for name in FUNCTIONAL},
    **SIZES_READ,
    **BRANCHES,
    **MODULES,
    **SUPPORT,
    **RANDOM,
}
"""Expressions whose value gets a name."""

FAMILIES = {
    "pointwise": (*UNARY, *FUNCTIONAL),
    "arithmetic": tuple(BINARY),
    "choices": tuple(CHOICES),
    "casts": tuple(CASTS),
    "views": tuple(VIEWS),
    "reductions": tuple(REDUCTIONS),
    "orders": tuple(ORDERS),
    "repeated": tuple(REPEATED),
    "scans": tuple(SCANS),
    "indexing": tuple(INDEXING),
    "scatters": tuple(SCATTERS),
    "creation": tuple(CREATION),
    "joins": tuple(JOINS),
    "shaping": tuple(SHAPING),
    "mutations": tuple(WRITES),
    "exchanges": tuple(EXCHANGES),
    "sizes": (*SIZES_READ, *BRANCHES, *SIZE_STATEMENTS),
    "modules": tuple(MODULES),
    "random": (*SUPPORT, *RANDOM, *RANDOM_STATEMENTS),
}
"""Family -> names."""

SHARES = {
    "reductions": 3,
    "orders": 2,
    "scans": 2,
    "scatters": 2,
    "joins": 2,
    "mutations": 2,
    "exchanges": 2,
    "views": 2,
}
"""Family -> how often it is drawn, 1 where nothing is said. What makes a compiler cut a
program into kernels and loops, and what moves elements, counts for more."""

DRAWN_AT_RANDOM = frozenset({*RANDOM, *RANDOM_STATEMENTS})
"""Names of operations whose values are open."""

CONSTANT_WRITES = frozenset({
    "fill_", "zero_", "set_slice", "select_write", "flatten_write", "diagonal_write",
    "index_put_", "masked_fill_", "mask_write", "strided_write", "write_half",
    "write_if_rows", "scatter_",
})  # fmt: skip
"""Statements that write one number. What any other leaves in a tensor that overlaps
itself depends on the order of its elements, which eager mode does not promise."""

WRITTEN_COPIES = frozenset({
    "select_scatter", "slice_scatter", "diagonal_scatter", "as_strided_scatter",
})  # fmt: skip
"""Expressions that eager mode evaluates by a write into a copy with the same strides:
of a tensor that overlaps itself the copy does too, and elements change that the
operator does not name."""
