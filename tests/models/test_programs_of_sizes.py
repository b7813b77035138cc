"""Random programs whose views, paddings and joints are made of sizes.

Compiled once for symbolic sizes and called with several shapes: results, strides and
which results share memory are those of eager mode.
"""

import random
from collections.abc import Callable, Sequence

import pytest
import torch
from torch.nn import functional

PARTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "first half": lambda x: x[: x.shape[0] // 2],
    "last two thirds": lambda x: x[x.shape[0] // 3 :],
    "middle": lambda x: x[1 : x.shape[0] - 1],
    "last row": lambda x: x[x.shape[0] - 1 :],
    "middle row": lambda x: x[x.shape[0] // 2][None],
    "left half": lambda x: x[:, : x.shape[1] // 2],
    "some columns": lambda x: x[:, : x.shape[1] % 3 + 1],
    "every second row": lambda x: x[::2],
    "every third column": lambda x: x[:, ::3],
    "flat": lambda x: x.flatten()[: x.shape[0] * x.shape[1]].view(x.shape),
    "transposed": lambda x: x.t(),
    "reshaped": lambda x: x.reshape(x.shape[1], x.shape[0]),
    "diagonal": lambda x: x.diagonal(0)[:, None],
    "unfolded": lambda x: x.unfold(0, 2, 1)[..., 0],
    "split": lambda x: x.split((x.shape[0] + 1) // 2)[0],
    "last chunk": lambda x: x.chunk(2, 1)[-1],
    "one too many": lambda x: x[:1].expand(x.shape[0] + 1, x.shape[1]),
    "padded": lambda x: functional.pad(x, (0, -x.shape[1] % 4)),
    "padded by rows": lambda x: functional.pad(x, (1, x.shape[0] % 3), value=2.0),
    "longer": lambda x: torch.cat([x, x[: x.shape[0] // 2]]),
    "wider": lambda x: torch.cat([x, x + 1], 1),
    "stacked": lambda x: torch.stack([x, -x]).flatten(0, 1),
    "interleaved": lambda x: torch.stack([x, x], -1).reshape(x.shape[0], -1),
    "repeated": lambda x: x.repeat(2, 1),
    "rolled": lambda x: x.roll(1, 0),
    "flipped": lambda x: x.flip(0),
    "half by an index": lambda x: x[torch.arange(x.shape[0] // 2)],
    "taken": lambda x: torch.take_along_dim(
        x, torch.zeros(x.shape[0], 2, dtype=torch.int64), 1
    ),
    "put below": lambda x: torch.zeros(x.shape[0] + 1, x.shape[1]).slice_scatter(
        x, 0, 1
    ),
    "plus first row": lambda x: x + x[:1],
    "times first column": lambda x: x * x[:, :1],
    "centred": lambda x: x - x.mean(1, keepdim=True),
    "plus sums": lambda x: x + x.sum(0),
    "running sums": lambda x: x.cumsum(1),
    "softmax": lambda x: x.softmax(-1),
    "normalised": lambda x: functional.layer_norm(x, (x.shape[1],)),
    "numbered": lambda x: x + torch.arange(x.shape[1]),
    "below": lambda x: x.tril(x.shape[0] // 2 - 1),
    "scaled": lambda x: x * (x.shape[0] / (x.shape[1] + 1)),
    "where": lambda x: torch.where(x > 0, x, x.new_zeros(x.shape[0], 1)),
    "product": lambda x: x @ x.t(),
    "pooled": lambda x: functional.avg_pool1d(x[None], 2)[0],
    "resized": lambda x: functional.interpolate(x[None], size=x.shape[0] + 1)[0],
}

Program = Callable[[torch.Tensor], tuple[torch.Tensor, ...]]


def drawn(generator: random.Random) -> tuple[list[str], Program]:
    """Return the names of some parts, one after another, and their program."""
    names = generator.choices(list(PARTS), k=generator.randint(1, 4))
    kept = [generator.random() < 0.4 for _ in names[1:]] + [True]

    def program(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = []
        for name, keep in zip(names, kept, strict=True):
            x = PARTS[name](x)
            if keep:
                found.append(x)
        return tuple(found)

    return names, program


def shared(x: torch.Tensor, results: Sequence[torch.Tensor]) -> list[list[bool]]:
    """Return which of the results, and the argument, lie in one storage."""
    ends = [one.untyped_storage().data_ptr() for one in (x, *results) if one.numel()]
    return [[a == b for a in ends] for b in ends]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_programs_of_sizes_are_right(seed: int) -> None:
    generator = random.Random(seed)
    torch.manual_seed(seed)
    names, program = drawn(generator)
    calls, wanted = [], []
    for _ in range(3):
        shape = [generator.choice([2, 3, 4, 5, 6, 7, 8, 12]) for _ in range(2)]
        x = torch.randint(-4, 5, shape).float()
        try:
            wanted.append(program(x))
        except (RuntimeError, IndexError):
            continue  # too small for a part
        calls.append(x)
    torch.compiler.reset()
    dynamic = generator.choice([True, None])
    compiled = torch.compile(
        program, backend="tilewright", dynamic=dynamic, options={"fallback": False}
    )
    for x, expected in zip(calls, wanted, strict=True):
        found = compiled(x)
        for ours, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(
                ours, theirs, atol=1e-4, rtol=1e-4, msg=str(names)
            )
            axes = zip(ours.shape, ours.stride(), theirs.stride(), strict=True)
            assert not ours.numel() or all(n == 1 or a == b for n, a, b in axes), names
        assert shared(x, found) == shared(x, expected), names
