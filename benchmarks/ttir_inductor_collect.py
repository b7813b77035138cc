"""Collect the Triton kernels that Inductor generates, on a machine with a GPU.

    python benchmarks/ttir_inductor_collect.py --out FOLDER --seconds 200

Ten small models of plain PyTorch are compiled, run forward and backward, and each
kernel that is launched is written down: TTIR, arguments without data, grid. The texts
are not committed; ``ttir_inductor.py`` checks them and writes figures.
"""

import argparse
import gzip
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ["TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER"] = "0"
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """A decoder block: RMS norm, rotary attention in plain operations, gated MLP."""

    def __init__(self, width: int = 256, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ParameterList(
            [nn.Parameter(torch.ones(width)) for _ in range(2)]
        )
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 3 * width, bias=False)
        self.up = nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def norm(self, x: torch.Tensor, index: int) -> torch.Tensor:
        """Return x scaled to unit mean square."""
        wide = x.float()
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        scaled: torch.Tensor = (wide * scale).to(x.dtype) * self.norms[index]
        return scaled

    def rotate(self, x: torch.Tensor) -> torch.Tensor:
        """Return x with pairs rotated by their position."""
        half = x.shape[-1] // 2
        steps = torch.arange(x.shape[-2], device=x.device)[:, None]
        rates = 10000 ** (-torch.arange(half, device=x.device) / half)
        angle = steps * rates
        a, b = x[..., :half], x[..., half:]
        cos, sin = angle.cos(), angle.sin()
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1).to(x.dtype)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the block's output."""
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm(x, 0)).chunk(3, -1)
        q, k, v = (
            t.view(batch, length, self.heads, -1).transpose(1, 2) for t in (q, k, v)
        )
        scores = self.rotate(q) @ self.rotate(k).transpose(-1, -2) / (width // 4) ** 0.5
        mask = torch.ones(length, length, device=x.device, dtype=torch.bool).tril()
        weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(x.shape))
        y = self.norm(x, 1)
        added: torch.Tensor = self.down(functional.silu(self.gate(y)) * self.up(y))
        return x + added


class Residual(nn.Module):
    """Two convolutions with norms and a shortcut."""

    def __init__(self, norm: Callable[[int], nn.Module], act: nn.Module) -> None:
        super().__init__()
        self.first = nn.Conv2d(32, 32, 3, padding=1)
        self.second = nn.Conv2d(32, 32, 3, padding=1)
        self.norms = nn.ModuleList([norm(32), norm(32)])
        self.act = act

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the block's output."""
        y = self.act(self.norms[0](self.first(x)))
        found: torch.Tensor = self.act(x + self.norms[1](self.second(y)))
        return found


class Labelled(nn.Module):
    """Embedding, layer norm, classifier, cross entropy."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(1000, 192)
        self.norm = nn.LayerNorm(192)
        self.head = nn.Linear(192, 1000)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the loss of predicting the next token."""
        logits = self.head(functional.gelu(self.norm(self.table(tokens))))
        return functional.cross_entropy(
            logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()
        )


class Pooled(nn.Module):
    """Convolutions, pooling, padding and upsampling, as in a U-Net."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(3, 24, 3, padding=1)
        self.middle = nn.Conv2d(24, 24, 3, padding=1)
        self.up = nn.Conv2d(48, 3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return an image of the same size."""
        a = functional.elu(self.down(x))
        b = functional.leaky_relu(self.middle(functional.max_pool2d(a, 2)))
        c = functional.interpolate(b, scale_factor=2, mode="bilinear")
        padded = functional.pad(torch.cat((a, c), 1), (1, 1, 1, 1), mode="reflect")
        result: torch.Tensor = self.up(padded)
        return result


class Losses(nn.Module):
    """Scans, sorts of statistics and losses on one matrix."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a scalar."""
        y = torch.cumsum(x.softmax(-1), -1)
        z = functional.log_softmax(x, -1)
        best = (x.argmax(-1) * 1.0).mean()
        spread = x.var(0).sqrt().sum() + x.std(-1).mean() + torch.logsumexp(x, 0).sum()
        return (y * z).sum() + best + spread + functional.huber_loss(x, y)


def models() -> dict[str, tuple[nn.Module, Callable[[], torch.Tensor]]]:
    """Return name -> model and what makes its input."""

    def image() -> torch.Tensor:
        return torch.randn(4, 32, 28, 28, device="cuda", requires_grad=True)

    return {
        "decoder": (Block(), lambda: torch.randn(2, 100, 256, device="cuda")),
        "encoder": (
            nn.TransformerEncoderLayer(192, 4, 500, 0.0, batch_first=True),
            lambda: torch.randn(3, 77, 192, device="cuda", requires_grad=True),
        ),
        "residual_batch": (Residual(nn.BatchNorm2d, nn.ReLU()), image),
        "residual_group": (
            Residual(lambda n: nn.GroupNorm(8, n), nn.SiLU()),
            image,
        ),
        "mlp_mixer": (
            nn.Sequential(
                nn.LayerNorm(300), nn.Linear(300, 700), nn.GELU(), nn.Linear(700, 300),
                nn.Dropout(0.1), nn.LayerNorm(300), nn.Tanh(),
            ),
            lambda: torch.randn(50, 300, device="cuda", requires_grad=True),
        ),
        "language": (
            Labelled(),
            lambda: torch.randint(0, 1000, (3, 65), device="cuda"),
        ),
        "unet": (Pooled(), lambda: torch.randn(2, 3, 30, 30, device="cuda")),
        "losses": (
            Losses(),
            lambda: torch.randn(70, 333, device="cuda", requires_grad=True),
        ),
        "instance": (
            nn.Sequential(
                nn.Conv2d(32, 64, 1), nn.InstanceNorm2d(64), nn.Hardswish(),
                nn.AvgPool2d(2), nn.Flatten(), nn.Softplus(),
            ),
            image,
        ),
        "half": (
            nn.Sequential(
                nn.LayerNorm(512), nn.Linear(512, 512), nn.SiLU(), nn.LayerNorm(512),
                nn.Softmax(-1),
            ).bfloat16(),
            lambda: torch.randn(33, 512, device="cuda", dtype=torch.bfloat16),
        ),
    }  # fmt: skip


def described(value: Any) -> dict[str, Any]:
    """Return an argument without its data, but for the range of its integers."""
    if isinstance(value, torch.Tensor):
        found = {
            "dtype": str(value.dtype),
            "shape": list(value.shape),
            "strides": list(value.stride()),
            "address": value.data_ptr(),
        }
        if value.dtype in (torch.int32, torch.int64) and value.numel():
            found |= {"low": int(value.min()), "high": int(value.max())}
        return found
    return {"value": value}


def keep_binaries(results: Any) -> None:
    """Let each launcher name what it launches, which Inductor does only for C++."""
    plain = results.make_launcher

    def make_launcher(self: Any) -> Any:
        launcher = plain(self)
        launcher.bin = self.kernel
        return launcher

    results.make_launcher = make_launcher


def main() -> int:
    """Compile, run, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=200)
    options = parser.parse_args()
    deadline = time.monotonic() + options.seconds
    from torch._inductor import config
    from torch._inductor.runtime import triton_heuristics

    config.force_disable_caches = True
    config.use_static_cuda_launcher = False
    found: dict[int, dict[str, Any]] = {}
    here = [""]
    plain: Any = triton_heuristics.CachingAutotuner.run

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = plain(self, *args, **kwargs)
        try:
            if id(self) not in found and self.launchers:
                found[id(self)] = {"keep": self, **record(self, args, here[0])}
        except Exception as error:
            print("not recorded:", type(error).__name__, error, flush=True)
        return result

    def record(self: Any, args: tuple[Any, ...], model: str) -> dict[str, Any]:
        launcher = self.launchers[0]
        # a size that Inductor made a constant is passed all the same
        fixed = {one.name for one in self.fn.params if one.is_constexpr}
        names = [name for name in self.fn.arg_names if name not in fixed]
        named = dict(zip(names, args, strict=False))
        signature = self.triton_meta["signature"]
        given = [name for name in names if signature.get(name) != "constexpr"]
        expression = triton_heuristics.GridExpr.from_meta(
            self.inductor_meta, launcher.config
        )
        grid = expression.eval_slow({**named, **launcher.config.kwargs})
        return {
            "model": model,
            "kernel": self.fn.__name__,
            "ttir": launcher.bin.asm["ttir"],
            "constants": dict(launcher.config.kwargs),
            "arguments": {n: described(v) for n, v in named.items() if n in given},
            "grid": [int(n) for n in grid],
        }

    triton_heuristics.CachingAutotuner.run = run  # type: ignore[method-assign]
    keep_binaries(triton_heuristics.TritonCompileResult)
    torch.manual_seed(0)
    for name, (model, make) in models().items():
        if time.monotonic() > deadline:
            print("out of time before", name, flush=True)
            break
        here[0] = name
        before = len(found)
        try:
            torch._dynamo.reset()
            output = torch.compile(model.cuda())(make())
            output.float().sum().backward()
        except Exception as error:
            print(name, "failed:", type(error).__name__, str(error)[:300], flush=True)
        print(name, len(found) - before, "kernels", flush=True)
        with gzip.open(options.out / "inductor.jsonl.gz", "wt") as file:
            for one in found.values():
                kept = {k: v for k, v in one.items() if k != "keep"}
                file.write(json.dumps(kept) + "\n")
    import triton

    versions = {
        "torch": torch.__version__,
        "triton": triton.__version__,
        "device": torch.cuda.get_device_name(0),
    }
    (options.out / "versions.json").write_text(json.dumps(versions))
    print(json.dumps(versions), len(found), "kernels")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
