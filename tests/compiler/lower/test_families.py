import operator

import torch

from compiler.ir import index
from compiler.ir.points import Points
from compiler.lower.families import FAMILIES, STORAGE, VIEWS, scalar
from compiler.lower.registry import LOWERINGS

aten = torch.ops.aten

# the operators of 29 models, inference and training, as PyTorch's own compiler takes
# them apart; calls into libraries are not among them
DEMAND = {
    "views": (
        "view permute unsqueeze squeeze expand slice select alias split "
        "split_with_sizes unbind as_strided repeat"
    ),
    "pointwise": (
        "add sub mul div pow exp log log1p erf tanh sigmoid sin cos sqrt rsqrt "
        "reciprocal relu clamp abs neg sign ceil floor fmod remainder where eq "
        "ne lt le gt ge isnan bitwise_and bitwise_or bitwise_xor bitwise_not "
        "logical_and logical_or logical_not maximum minimum copy clone"
    ),
    "reductions": (
        "sum mean amax amin any var_mean cumsum max_pool2d_with_indices avg_pool2d"
    ),
    "creation": "full scalar_tensor empty rand bernoulli new_empty_strided arange",
    "indexing": (
        "index gather embedding index_put scatter scatter_add slice_scatter "
        "select_scatter as_strided_scatter _unsafe_masked_index_put_accumulate"
    ),
    "joining": "cat constant_pad_nd lift_fresh_copy",
    "whole": (
        "_softmax _log_softmax native_layer_norm native_group_norm gelu silu "
        "native_dropout gelu_backward silu_backward threshold_backward "
        "embedding_dense_backward max_pool2d_with_indices_backward "
        "avg_pool2d_backward _native_batch_norm_legit_no_training "
        "_native_batch_norm_legit_functional"
    ),
}


def test_what_models_ask_for_has_a_lowering() -> None:
    lacking = []
    demand = [name for names in DEMAND.values() for name in names.split()]
    for name in demand:
        packet = getattr(aten, name)
        overloads = [getattr(packet, overload) for overload in packet.overloads()]
        if not any(overload in LOWERINGS for overload in overloads):
            lacking.append(name)
    prims = torch.ops.prims
    primitives = (prims.iota, prims.convert_element_type, prims.fma)
    lacking += [str(p) for p in primitives if p.default not in LOWERINGS]
    assert not lacking
    assert len(demand) + len(primitives) >= 103  # and copy_ and calls


def test_views_share_their_first_argument() -> None:
    for target in VIEWS - {aten._unsafe_view.default}:
        returns = target._schema.returns
        assert returns[0].alias_info is not None or "[]" in str(returns[0].type)
    assert all(target in LOWERINGS for target in VIEWS | STORAGE)
    assert len({family.__name__ for family in FAMILIES}) == len(FAMILIES)


def test_numbers_made_of_sizes() -> None:
    s = index.symbol("s")
    value = scalar(operator.truediv, (s, 4))
    assert value is not None
    assert Points((), (), {}, {"s": 10}).tensor(value).item() == 2.5
    assert scalar(torch.sym_float, (s,)) is not None
    assert scalar(operator.truediv, (s, "x")) is None
    assert scalar(operator.and_, (s, 4)) is None
