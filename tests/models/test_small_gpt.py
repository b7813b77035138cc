"""A small character model, trained compiled and in eager mode side by side."""

import copy
import pydoc_data.topics
import statistics

import pytest
import torch
from torch import nn
from torch.nn import functional

from compiler import torch_api

CONTEXT, BATCH, WIDTH, HEADS, LAYERS = 32, 8, 48, 4, 6
STEPS = 300


class Block(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.project, self.join = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.widen, self.narrow = (
            nn.Linear(WIDTH, 4 * WIDTH),
            nn.Linear(4 * WIDTH, WIDTH),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, length, _ = x.shape
        q, k, v = (
            part.view(rows, length, HEADS, -1).transpose(1, 2)
            for part in self.project(self.before(x)).split(WIDTH, 2)
        )
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.join(seen.transpose(1, 2).reshape(x.shape)))
        inner = functional.gelu(self.widen(self.between(x)))
        return x + self.drop(self.narrow(inner))

    def drop(self, x: torch.Tensor) -> torch.Tensor:
        return functional.dropout(x, self.dropout, self.training)


class Gpt(nn.Module):
    def __init__(self, characters: int, dropout: float) -> None:
        super().__init__()
        self.token = nn.Embedding(characters, WIDTH)
        self.place = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block(dropout) for _ in range(LAYERS))
        self.last, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, characters)

    def forward(self, tokens: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        x = self.token(tokens) + self.place(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        scores = self.head(self.last(x)).flatten(0, 1)
        return functional.cross_entropy(scores, wanted.flatten())


def losses(dropout: float) -> list[tuple[float, float]]:
    """Return the loss of each step, compiled and in eager mode."""
    text = "".join(pydoc_data.topics.topics.values())[:200_000]
    characters = sorted(set(text))
    numbers = {character: number for number, character in enumerate(characters)}
    tokens = torch.tensor([numbers[character] for character in text])
    torch.manual_seed(0)
    model = Gpt(len(characters), dropout)
    twin = copy.deepcopy(model)
    ours = torch.optim.AdamW(model.parameters(), 1e-3)
    theirs = torch.optim.AdamW(twin.parameters(), 1e-3)
    torch_api.reset()
    compiled = torch.compile(model, backend="tilewright")
    update = torch.compile(ours.step, backend="tilewright")
    found = []
    for step in range(STEPS):
        generator = torch.Generator().manual_seed(step)
        starts = torch.randint(
            0, len(tokens) - CONTEXT - 1, (BATCH,), generator=generator
        )
        rows = torch.stack([tokens[start : start + CONTEXT + 1] for start in starts])
        mine = compiled(rows[:, :-1].contiguous(), rows[:, 1:].contiguous())
        mine.backward()
        update()
        ours.zero_grad()
        other = twin(rows[:, :-1], rows[:, 1:])
        other.backward()
        theirs.step()
        theirs.zero_grad()
        found.append((mine.item(), other.item()))
    return found


@pytest.mark.slow
def test_the_loss_is_eager_modes_at_every_step() -> None:
    pairs = losses(dropout=0.0)
    assert max(abs(mine - other) / other for mine, other in pairs) < 0.01
    assert pairs[-1][0] < 0.75 * pairs[0][0]


@pytest.mark.slow
def test_with_dropout_the_loss_is_statistically_eager_modes() -> None:
    mine, other = zip(*losses(dropout=0.1)[-100:], strict=True)
    spread = statistics.stdev(a - b for a, b in zip(mine, other, strict=True))
    difference = statistics.fmean(mine) - statistics.fmean(other)
    # each step's difference has its own masks: four standard errors of their mean
    assert abs(difference) < 4 * spread / 10 + 0.01 * statistics.fmean(other)
