"""Does a compiled model learn as in eager mode? A small GPT, its losses side by side.

    python benchmarks/gpt_curve.py [--device cuda] [--dropout 0.1] [--out FILE]

A model of characters (6 layers) on the texts of Python's own documentation
(``pydoc_data.topics``), from equal weights and on equal batches: one compiled, with a
compiled optimizer step, one in eager mode. Without dropout each step's loss has to be
eager mode's within 1 %. With dropout the masks differ, and so do the losses of a step:
then the mean difference over the last third has to be within four standard errors, and
the standard error itself within 1 % of the loss, so that the answer says something.
The JSON has all losses, and is written as the steps go on.
"""

import argparse
import copy
import json
import math
import platform
import pydoc_data.topics
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch
from torch import nn
from torch.nn import functional

from compiler import torch_api

BOUND = 0.01
"""How far a loss may be from eager mode's, over eager mode's."""


@dataclass(frozen=True, slots=True)
class Setup:
    """A run.

    Attributes:
        dropout: Chance that an element is dropped.
        steps: Optimizer steps.
        device: Where.
        context: Characters of a row.
        batch: Rows of a step.
        width: Of the model.
        heads: Of attention.
        layers: Blocks.
        characters: Of the text that is learnt, from its start.
        rate: AdamW's learning rate.
    """

    dropout: float = 0.0
    steps: int = 300
    device: str = "cpu"
    context: int = 32
    batch: int = 8
    width: int = 48
    heads: int = 4
    layers: int = 6
    characters: int = 200_000
    rate: float = 1e-3


class Block(nn.Module):
    """Attention and a perceptron, each behind a normalisation."""

    def __init__(self, setup: Setup) -> None:
        super().__init__()
        width = setup.width
        self.heads, self.dropout = setup.heads, setup.dropout
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = (
            nn.Linear(width, 4 * width),
            nn.Linear(4 * width, width),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return (rows, length, width) of the same."""
        rows, length, width = x.shape
        q, k, v = (
            part.view(rows, length, self.heads, -1).transpose(1, 2)
            for part in self.project(self.before(x)).split(width, 2)
        )
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self._drop(self.join(seen.transpose(1, 2).reshape(x.shape)))
        inner = functional.gelu(self.widen(self.between(x)))
        return x + self._drop(self.narrow(inner))

    def _drop(self, x: torch.Tensor) -> torch.Tensor:
        return functional.dropout(x, self.dropout, self.training)


class Gpt(nn.Module):
    """A model of the next character."""

    def __init__(self, characters: int, setup: Setup) -> None:
        super().__init__()
        self.token = nn.Embedding(characters, setup.width)
        self.place = nn.Embedding(setup.context, setup.width)
        self.blocks = nn.ModuleList(Block(setup) for _ in range(setup.layers))
        self.last = nn.LayerNorm(setup.width)
        self.head = nn.Linear(setup.width, characters)

    def forward(self, tokens: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        """Return the mean cross-entropy of the wanted characters."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.token(tokens) + self.place(places)
        for block in self.blocks:
            x = block(x)
        scores = self.head(self.last(x)).flatten(0, 1)
        return functional.cross_entropy(scores, wanted.flatten())


def losses(setup: Setup) -> Iterator[tuple[float, float]]:
    """Yield (compiled, eager) of each step."""
    text = "".join(pydoc_data.topics.topics.values())[: setup.characters]
    characters = sorted(set(text))
    numbers = {character: number for number, character in enumerate(characters)}
    tokens = torch.tensor([numbers[character] for character in text])
    torch.manual_seed(0)
    model = Gpt(len(characters), setup).to(setup.device)
    twin = copy.deepcopy(model)
    ours = torch.optim.AdamW(model.parameters(), setup.rate)
    theirs = torch.optim.AdamW(twin.parameters(), setup.rate)
    torch_api.reset()
    compiled = torch.compile(model, backend="tilewright")
    update = torch.compile(ours.step, backend="tilewright")
    for step in range(setup.steps):
        generator = torch.Generator().manual_seed(step)
        last = len(tokens) - setup.context - 1
        starts = torch.randint(0, last, (setup.batch,), generator=generator)
        rows = torch.stack([tokens[s : s + setup.context + 1] for s in starts])
        rows = rows.to(setup.device)
        mine = compiled(rows[:, :-1].contiguous(), rows[:, 1:].contiguous())
        mine.backward()
        update()
        ours.zero_grad()
        other = twin(rows[:, :-1], rows[:, 1:])
        other.backward()
        theirs.step()
        theirs.zero_grad()
        yield mine.item(), other.item()


def furthest(pairs: list[tuple[float, float]]) -> float:
    """Return the greatest distance from eager mode's loss, over it."""
    return max(abs(mine - other) / other for mine, other in pairs)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two curves in the mean.

    Attributes:
        difference: Mean of compiled less eager, over the mean loss.
        error: Its standard error, over the mean loss.
    """

    difference: float
    error: float

    @property
    def holds(self) -> bool:
        """Whether nothing speaks for a difference, and one of 4 % would be seen."""
        return abs(self.difference) <= 4 * self.error and self.error <= BOUND


def compared(pairs: list[tuple[float, float]]) -> Comparison:
    """Compare the last third of two curves; steps share batches, not masks."""
    tail = pairs[-max(len(pairs) // 3, 2) :]
    apart = [mine - other for mine, other in tail]
    mean = statistics.fmean(other for _, other in tail)
    error = statistics.stdev(apart) / math.sqrt(len(apart))
    return Comparison(statistics.fmean(apart) / mean, error / mean)


def main() -> int:
    """Train, print, write, and return the exit code: 1 if a bound is passed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--dropout", type=float, nargs="*", default=[0.0, 0.1])
    parser.add_argument("--deadline", type=float, default=float("inf"), help="seconds")
    parser.add_argument("--commit", help="recorded where git is not at hand")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    end = time.monotonic() + options.deadline
    facts: dict[str, Any] = {
        "commit": options.commit or _commit(),
        "device": options.device,
        "processor": platform.processor() or platform.machine(),
        "torch": torch.__version__,
        "runs": [],
    }
    holds = True
    for dropout in options.dropout:
        setup = Setup(dropout, options.steps, options.device)
        run: dict[str, Any] = {"dropout": dropout, "whole": False}
        facts["runs"].append(run)
        pairs: list[tuple[float, float]] = []
        started = time.monotonic()
        for pair in losses(setup):
            pairs.append(pair)
            if len(pairs) % 50 == 0 or len(pairs) == options.steps:
                run["whole"] = len(pairs) == options.steps
                run |= _summary(pairs, dropout, time.monotonic() - started)
                _write(options.out, facts)
                print(_line(run), flush=True)
            if time.monotonic() > end:
                break
        holds &= run["whole"] and run["holds"]
    return int(not holds)


def _summary(
    pairs: list[tuple[float, float]], dropout: float, seconds: float
) -> dict[str, Any]:
    both = compared(pairs)
    return {
        "steps": len(pairs),
        "seconds": round(seconds, 1),
        "first": pairs[0],
        "last": pairs[-1],
        "furthest": furthest(pairs),
        "mean_difference": both.difference,
        "standard_error": both.error,
        "holds": both.holds if dropout else furthest(pairs) <= BOUND,
        "compiled": [round(mine, 6) for mine, _ in pairs],
        "eager": [round(other, 6) for _, other in pairs],
    }


def _line(run: dict[str, Any]) -> str:
    return (
        f"dropout {run['dropout']:g}, {run['steps']} steps, {run['seconds']:.0f} s: "
        f"loss {run['last'][0]:.4f} compiled, {run['last'][1]:.4f} eager; furthest "
        f"{100 * run['furthest']:.3g} %, mean {100 * run['mean_difference']:+.3g} % "
        f"+- {100 * run['standard_error']:.2g} %; holds: {run['holds']}"
    )


def _write(out: Path | None, facts: dict[str, Any]) -> None:
    if out is not None:
        part = out.with_suffix(".part")
        part.write_text(json.dumps(facts, indent=1) + "\n")
        part.replace(out)


def _commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
