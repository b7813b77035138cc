"""A compiled function must do what eager mode does, to its arguments too."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from compiler import torch_api

Same = Callable[..., Any]


def copied(value: Any) -> Any:
    """Return a tensor in memory of its own, with equal strides and offset."""
    if not isinstance(value, torch.Tensor):
        return value
    storage = torch.empty(0, dtype=value.dtype, device=value.device)
    storage.set_(value.detach().untyped_storage().clone())
    made = storage.as_strided(value.shape, value.stride(), value.storage_offset())
    return made.requires_grad_(value.requires_grad)


def agree(ours: Any, eager: Any, *, exact: bool = False) -> None:
    """Check values, types, shapes and strides of all tensors of two results."""
    mine, spec = pytree.tree_flatten(ours)
    theirs, wanted = pytree.tree_flatten(eager)
    assert spec == wanted
    for a, b in zip(mine, theirs, strict=True):
        if not isinstance(b, torch.Tensor):
            assert a == b
            continue
        assert a.dtype == b.dtype and a.shape == b.shape
        strides = [
            (x, y)
            for size, x, y in zip(a.shape, a.stride(), b.stride(), strict=True)
            if size > 1
        ]
        assert a.numel() == 0 or all(x == y for x, y in strides), strides
        bound = 0 if exact else None
        torch.testing.assert_close(a, b, equal_nan=True, rtol=bound, atol=bound)


@pytest.fixture
def same() -> Same:
    """Run a function compiled and as it is, and compare.

    ``same(function, *args, graphs=1, exact=False, dynamic=None, **options)`` returns
    the compiled function; a fallback is an error, as every warning.
    """

    def check(
        function: Callable[..., Any],
        *args: Any,
        graphs: int | None = 1,
        exact: bool = False,
        dynamic: bool | None = None,
        **options: Any,
    ) -> Callable[..., Any]:
        torch_api.reset()
        torch_api.forget_counts()
        compiled = torch.compile(
            function, backend="tilewright", dynamic=dynamic, options=options
        )
        ours = pytree.tree_map(copied, args)
        theirs = pytree.tree_map(copied, args)
        agree(compiled(*ours), function(*theirs), exact=exact)
        agree(ours, theirs, exact=exact)
        if graphs is not None:
            assert torch_api.captured_graphs() == graphs
        return compiled

    return check
