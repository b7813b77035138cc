"""Values of expressions at all points of a loop nest at once, in torch.

The reference semantics of an expression: each node becomes a tensor (or an int, for an
index without digits) that broadcasts over the axes. Loads are checked, so an index
that leaves its buffer is an error here, never a wrong number.
"""

from collections.abc import Callable, Mapping, Sequence

import torch

from .expression import INDEX, Expression
from .operations import OPERATIONS
from .scalar import torch_type

_Value = torch.Tensor | int


class EvaluationError(Exception):
    """A program breaks a rule of the IR: the message says where."""


class Points:
    """All points of a loop nest, and the memory that expressions read there.

    Attributes:
        extents: Extents of the axes [elements].
        locals: Name of a local -> tensor that broadcasts over the axes.
    """

    def __init__(
        self,
        digits: Sequence[Expression],
        extents: Sequence[int],
        tensors: Mapping[str, torch.Tensor],
        symbols: Mapping[str, int],
        device: torch.device | str = "cpu",
    ) -> None:
        """Take the nest's digits, outermost first, with their extents.

        Args:
            digits: Distinct leaves.
            extents: As many [elements].
            tensors: Buffer's name -> its elements.
            symbols: Symbol's name -> its value.
            device: Where digits live.
        """
        self.extents = tuple(extents)
        self.locals: dict[str, torch.Tensor] = {}
        self._tensors = tensors
        self._symbols = symbols
        self._device = device
        self._digits = {
            digit.data: self._digit(number, extent)
            for number, (digit, extent) in enumerate(zip(digits, extents, strict=True))
        }
        self._memory: dict[tuple[int, int], _Value] = {}
        self._kept: list[object] = []

    def _digit(self, number: int, extent: int) -> torch.Tensor:
        shape = [1] * len(self.extents)
        shape[number] = extent
        return torch.arange(extent, device=self._device).reshape(shape)

    def tensor(
        self, value: Expression, mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return a value or an index (int64) at all points, in the axes' full shape."""
        found = self(value, mask)
        if not isinstance(found, torch.Tensor):
            found = torch.tensor(found, device=self._device)
        return found.expand(self.extents)

    def __call__(self, root: Expression, mask: torch.Tensor | None = None) -> _Value:
        """Return the value of an expression where the mask holds.

        Args:
            root: Over the nest's digits.
            mask: Bool, broadcasts over the axes; None: everywhere. Elsewhere loads
                give anything and nothing is checked.

        Raises:
            EvaluationError: a load leaves its buffer, or a leaf is unknown.
            IndexError: a ``checked_index`` is out of range.
        """
        number = 0 if mask is None else id(mask)
        self._kept += [root, mask]
        memory = self._memory
        stack = [root]
        while stack:
            node = stack[-1]
            if (id(node), number) in memory:
                stack.pop()
                continue
            args = (node.args[0], node.args[2]) if node.op == "guard" else node.args
            missing = [arg for arg in args if (id(arg), number) not in memory]
            if missing:
                stack += reversed(missing)
                continue
            stack.pop()
            values = [memory[id(arg), number] for arg in args]
            memory[id(node), number] = self._node(node, values, mask)
        return memory[id(root), number]

    def forget(self) -> None:
        """Drop what was computed: an array was written, loads see it anew."""
        self._memory.clear()

    def _node(
        self, node: Expression, values: list[_Value], mask: torch.Tensor | None
    ) -> _Value:
        if node.op in _LEAVES:
            return _LEAVES[node.op](self, node)
        if node.op == "load":
            return self._load(node, values, mask)
        if node.op == "checked_index":
            return self._checked(node, values, mask)
        if node.dtype == INDEX:
            return _index_operation(node.op, values)
        if node.op == "from_index":
            return torch.as_tensor(values[0], device=self._device).to(
                torch_type(node.dtype)
            )
        left = _tensor(values[0])
        if node.op == "guard":
            inside = left if mask is None else left & mask
            then = _tensor(self(node.args[1], inside))
            return torch.where(left, then, _tensor(values[1]))
        if node.op == "cast":
            return left.to(torch_type(node.dtype))
        if node.op == "bitcast":
            return left.contiguous().view(torch_type(node.dtype))
        if node.op == "random_bits":
            return philox(left, _tensor(values[1]))
        row = OPERATIONS.get(node.op)
        if row is None or row.evaluate is None:
            raise EvaluationError(f"no operation op={node.op}")
        return row.evaluate(*map(_tensor, values))

    def _load(
        self, node: Expression, values: list[_Value], mask: torch.Tensor | None
    ) -> torch.Tensor:
        tensor = self._tensors.get(str(node.data))
        if tensor is None:
            raise EvaluationError(f"{node.data} is read before it is written")
        if torch_type(node.dtype) != tensor.dtype or tensor.dim() != len(values):
            raise EvaluationError(
                f"{node!r} of type {node.dtype} reads an array of type {tensor.dtype} "
                f"and {tensor.dim()} dims"
            )
        if not values:
            return tensor
        indices = [torch.as_tensor(v, device=tensor.device) for v in values]
        inside = torch.ones((), dtype=torch.bool, device=tensor.device)
        for index, extent in zip(indices, tensor.shape, strict=True):
            inside = inside & (index >= 0) & (index < extent)
        wrong = ~inside if mask is None else ~inside & mask
        if bool(wrong.any()) and 0 not in self.extents:
            raise EvaluationError(
                f"{node!r} leaves its buffer of shape {tuple(tensor.shape)}"
            )
        if tensor.numel() == 0:
            shape = torch.broadcast_shapes(*(i.shape for i in indices))
            return torch.zeros(shape, dtype=tensor.dtype, device=tensor.device)
        if not bool(inside.all()):
            indices = [torch.where(inside, i, 0) for i in indices]
        return tensor[tuple(indices)]

    def _checked(
        self, node: Expression, values: list[_Value], mask: torch.Tensor | None
    ) -> torch.Tensor:
        value = _tensor(values[0]).to(torch.int64)
        extent = int(values[1])
        if node.data:
            value = torch.where(value < 0, value + extent, value)
        wrong = (value < 0) | (value >= extent)
        wrong = wrong if mask is None else wrong & mask
        if bool(wrong.any()) and 0 not in self.extents:
            raise IndexError(f"index out of range for a dim of {extent} elements")
        return value.clamp(0, max(extent - 1, 0))

    def _constant(self, node: Expression) -> _Value:
        if node.dtype == INDEX:
            return int(str(node.data))
        return torch.tensor(
            node.data, dtype=torch_type(node.dtype), device=self._device
        )

    def _symbol(self, node: Expression) -> int:
        if node.data not in self._symbols:
            raise EvaluationError(f"the size {node.data} has no value")
        return self._symbols[str(node.data)]

    def _loop_digit(self, node: Expression) -> torch.Tensor:
        if node.data not in self._digits:
            raise EvaluationError(f"the digit {node.data} is not one of this nest")
        return self._digits[node.data]

    def _local(self, node: Expression) -> torch.Tensor:
        if node.data not in self.locals:
            raise EvaluationError(f"the local {node.data} is read before its stage")
        found = self.locals[str(node.data)]
        if found.dtype != torch_type(node.dtype):
            raise EvaluationError(
                f"the local {node.data} has type {found.dtype}, read as {node.dtype}"
            )
        return found


_LEAVES: Mapping[str, Callable[[Points, Expression], _Value]] = {
    "constant": Points._constant,
    "symbol": Points._symbol,
    "digit": Points._loop_digit,
    "local": Points._local,
}


def size(value: Expression, symbols: Mapping[str, int]) -> int:
    """Return an index over symbols as an int."""
    return int(Points((), (), {}, symbols)(value))


def _tensor(value: _Value) -> torch.Tensor:
    if not isinstance(value, torch.Tensor):
        raise EvaluationError(f"needed a value, got the index {value}")
    return value


def _index_operation(op: str, values: list[_Value]) -> _Value:
    if op not in _ON_INDICES:
        raise EvaluationError(f"no operation on indices op={op}")
    total = values[0]
    for value in values[1:]:
        total = _ON_INDICES[op](total, value)
    return total


def _least(left: _Value, right: _Value) -> _Value:
    if isinstance(left, int) and isinstance(right, int):
        return min(left, right)
    return torch.minimum(*_both(left, right))


def _greatest(left: _Value, right: _Value) -> _Value:
    if isinstance(left, int) and isinstance(right, int):
        return max(left, right)
    return torch.maximum(*_both(left, right))


def _both(left: _Value, right: _Value) -> tuple[torch.Tensor, torch.Tensor]:
    device = left.device if isinstance(left, torch.Tensor) else None
    if device is None and isinstance(right, torch.Tensor):
        device = right.device
    return (
        torch.as_tensor(left, device=device),
        torch.as_tensor(right, device=device),
    )


# Python's // and % floor, on ints and on integer tensors alike
_ON_INDICES: Mapping[str, Callable[[_Value, _Value], _Value]] = {
    "add": lambda left, right: left + right,
    "mul": lambda left, right: left * right,
    "floordiv": lambda left, right: left // right,
    "mod": lambda left, right: left % right,
    "minimum": _least,
    "maximum": _greatest,
}


def philox(seed: torch.Tensor, offset: torch.Tensor) -> torch.Tensor:
    """Return the first word of Philox-4x32-10 as int32.

    Args:
        seed: Key, int64.
        offset: Low two words of the counter, int64; the others are 0.

    Example:
        >>> philox(torch.tensor(0), torch.tensor(0)).item() % 2**32 == 0x6627E8D5
        True

    Source: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.
    """
    word = 0xFFFFFFFF
    counter = [offset & word, (offset >> 32) & word, offset * 0, offset * 0]
    key = [seed & word, (seed >> 32) & word]
    for _ in range(10):
        first, second = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [
            ((second >> 32) & word) ^ counter[1] ^ key[0],
            second & word,
            ((first >> 32) & word) ^ counter[3] ^ key[1],
            first & word,
        ]
        key = [(key[0] + 0x9E3779B9) & word, (key[1] + 0xBB67AE85) & word]
    return counter[0].to(torch.int32)
