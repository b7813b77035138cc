"""Operators over lists of tensors, taken apart into one operator for each tensor.

An optimizer's step is made of them. Called whole, each reads and writes all weights;
taken apart, what is done to one weight is one kernel, and weights share kernels.

Law: ``_foreach_op(xs, ...)[i] == op(xs[i], ...)``, where an argument that is a list
counts with its entry ``i``. Source: ATen's ``ForeachOpsKernels.cpp``, which does the
same wherever its fast kernels do not apply.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import torch

from compiler.torch_api import operators_over_lists

aten = torch.ops.aten


def _norm(x: torch.Tensor, ord: Any = 2, dtype: torch.dtype | None = None) -> Any:
    return torch.linalg.vector_norm(x, ord, dtype=dtype)


def _addcmul(x: Any, a: Any, b: Any, value: Any = 1) -> Any:
    return torch.addcmul(x, a, b, value=value)


def _addcdiv(x: Any, a: Any, b: Any, value: Any = 1) -> Any:
    return torch.addcdiv(x, a, b, value=value)


_OTHERS: Final[dict[str, Callable[..., Any] | None]] = {
    "maximum.Scalar": torch.clamp_min,
    "maximum.ScalarList": torch.clamp_min,
    "minimum.Scalar": torch.clamp_max,
    "minimum.ScalarList": torch.clamp_max,
    "norm.Scalar": _norm,
    "zero": torch.zeros_like,
    "copy": aten.copy.default,
    # one tensor on the CPU holds a number for each, which only a call can read
    "addcmul.Tensor": None,
    "addcdiv.Tensor": None,
    "addcmul.Scalar": _addcmul,
    "addcmul.ScalarList": _addcmul,
    "addcdiv.Scalar": _addcdiv,
    "addcdiv.ScalarList": _addcdiv,
}
"""Operator -> what does it to one tensor, where that has another name; None: a call."""


def foreach_decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the table: operator over lists -> function of operators on tensors.

    Operators that write their arguments are made functional before the table is read.
    """
    table: dict[Any, Callable[..., Any]] = {}
    for name, target in operators_over_lists().items():
        one = _OTHERS.get(name, getattr(torch, name.partition(".")[0], None))
        if one is None:
            continue
        lists = frozenset(
            argument.name
            for argument in target._schema.arguments
            if isinstance(argument.type, torch.ListType)
        )
        names = tuple(argument.name for argument in target._schema.arguments)
        table[target] = partial(_each, one, names, lists)
    return table


def _each(
    one: Callable[..., Any],
    names: tuple[str, ...],
    lists: frozenset[str],
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Apply an operator to each entry of the lists among its arguments.

    Returns:
        A list; NotImplemented, so that the operator is called and says what is wrong,
        for lists of different lengths.
    """
    given = dict(zip(names, args, strict=False))
    listed = [given[name] if name in given else kwargs[name] for name in lists]
    if len({len(values) for values in listed}) != 1:
        return NotImplemented

    if one is torch.sub and any(x.dtype == torch.bool for x in args[0]):
        return NotImplemented  # the operator refuses it

    def entry(name: str, value: Any, place: int) -> Any:
        return value[place] if name in lists else value

    return [
        one(
            *(entry(name, value, place) for name, value in given.items()),
            **{name: entry(name, value, place) for name, value in kwargs.items()},
        )
        for place in range(len(listed[0]))
    ]
