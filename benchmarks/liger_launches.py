"""Launches of Liger-Kernel's own wrappers, recorded on a machine without a GPU.

Each case is called at two sizes; nothing runs on a device. Not a benchmark by itself:
``ttir_liger.py`` and ``ttir_mutants.py`` use it.
"""

import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from verify.launches import Recording, recorded

SIZES = ((6, 500), (10, 509))
"""Rows and columns of the two recordings; both column counts fit one power of two."""

Case = Callable[[int, int], None]


def rand(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return a tensor that wants a gradient."""
    return torch.randn(*shape, dtype=dtype).requires_grad_()


def differentiate(*outputs: Any) -> None:
    """Run the backward pass of all outputs that have one."""
    flat = []
    for output in outputs:
        flat += list(output) if isinstance(output, tuple | list) else [output]
    wanted = [o for o in flat if isinstance(o, torch.Tensor) and o.requires_grad]
    torch.autograd.backward(wanted, [torch.randn_like(o) for o in wanted])


def labels(rows: int, columns: int) -> torch.Tensor:
    """Return class numbers."""
    return torch.randint(0, columns, (rows,))


@contextmanager
def pretended_device() -> Iterator[None]:
    """Let wrappers that ask for the number of multiprocessors get an answer."""
    properties = types.SimpleNamespace(
        multi_processor_count=132,
        major=9,
        minor=0,
        total_memory=1 << 37,
        name="none",
        shared_memory_per_block_optin=232448,
    )
    saved = (
        torch.cuda.get_device_properties,
        torch.cuda.get_device_capability,
        torch.cuda.current_device,
    )
    torch.cuda.get_device_properties = lambda *a, **k: properties  # type: ignore[assignment]
    torch.cuda.get_device_capability = lambda *a, **k: (9, 0)
    torch.cuda.current_device = lambda: 0
    try:
        yield
    finally:
        (
            torch.cuda.get_device_properties,
            torch.cuda.get_device_capability,
            torch.cuda.current_device,
        ) = saved


def cases() -> dict[str, Case]:
    """Return name -> call of a wrapper at a size."""
    from liger_kernel import ops

    found: dict[str, Case] = {}

    def add(name: str) -> Callable[[Case], Case]:
        def keep(case: Case) -> Case:
            found[name] = case
            return case

        return keep

    for dtype in (torch.float32, torch.bfloat16):
        for mode in ("llama", "gemma", "none"):
            for row in (None, True):
                tag = f"{mode}_{str(dtype)[6:]}_{'row' if row else 'block'}"

                @add(f"rms_norm_{tag}")
                def _(
                    r: int, c: int, dtype: Any = dtype, mode: str = mode, row: Any = row
                ) -> None:
                    n = r if row else r * 8192
                    y = ops.LigerRMSNormFunction.apply(
                        rand(n, 100 if not row else c, dtype=dtype),
                        rand(100 if not row else c, dtype=dtype),
                        1e-6,
                        0.0,
                        mode,
                        False,
                        row,
                    )
                    differentiate(y)

    @add("rms_norm_in_place")
    def _(r: int, c: int) -> None:
        differentiate(
            ops.LigerRMSNormFunction.apply(
                rand(r, c), rand(c), 1e-6, 0.0, "llama", True, True
            )
        )

    @add("layer_norm")
    def _(r: int, c: int) -> None:
        differentiate(
            ops.LigerLayerNormFunction.apply(rand(r, c), rand(c), rand(c), 1e-6)
        )

    @add("layer_norm_bf16")
    def _(r: int, c: int) -> None:
        b = torch.bfloat16
        differentiate(
            ops.LigerLayerNormFunction.apply(
                rand(r, c, dtype=b), rand(c, dtype=b), rand(c, dtype=b), 1e-6
            )
        )

    @add("group_norm")
    def _(r: int, c: int) -> None:
        differentiate(
            ops.LigerGroupNormFunction.apply(
                rand(r, 12, c), rand(12), rand(12), 12, 4, 1e-6
            )
        )

    @add("fused_add_rms_norm")
    def _(r: int, c: int) -> None:
        differentiate(
            *ops.LigerFusedAddRMSNormFunction.apply(
                rand(r, c), rand(r, c), rand(c), 1e-6, 0.0, "llama", False
            )
        )

    @add("fused_add_rms_norm_gemma")
    def _(r: int, c: int) -> None:
        b = torch.bfloat16
        differentiate(
            *ops.LigerFusedAddRMSNormFunction.apply(
                rand(r, c, dtype=b),
                rand(r, c, dtype=b),
                rand(c, dtype=b),
                1e-6,
                1.0,
                "gemma",
                False,
            )
        )

    @add("modulated_rms_norm")
    def _(r: int, c: int) -> None:
        differentiate(
            ops.LigerModulatedRMSNormFunction.apply(
                rand(2, r, c),
                rand(c),
                rand(2, c),
                rand(2, c),
                1e-6,
                0.0,
                "llama",
                False,
            )
        )

    @add("modulated_rms_norm_gemma")
    def _(r: int, c: int) -> None:
        differentiate(
            ops.LigerModulatedRMSNormFunction.apply(
                rand(2, r, c),
                rand(c),
                rand(2, c),
                rand(2, c),
                1e-6,
                1.0,
                "gemma",
                False,
            )
        )

    @add("poly_norm")
    def _(r: int, c: int) -> None:
        differentiate(
            ops.LigerPolyNormFunction.apply(rand(r, c), rand(3), rand(), 1e-6, False)
        )

    @add("dyt")
    def _(r: int, c: int) -> None:
        differentiate(ops.LigerDyTFunction.apply(rand(r, c), rand(1), rand(c), rand(c)))

    @add("dyt_no_beta")
    def _(r: int, c: int) -> None:
        differentiate(ops.LigerDyTFunction.apply(rand(r, c), rand(1), rand(c), None))

    @add("geglu")
    def _(r: int, c: int) -> None:
        differentiate(ops.LigerGELUMulFunction.apply(rand(r, c), rand(r, c)))

    @add("geglu_bf16")
    def _(r: int, c: int) -> None:
        differentiate(
            ops.LigerGELUMulFunction.apply(
                rand(r, c, dtype=torch.bfloat16), rand(r, c, dtype=torch.bfloat16)
            )
        )

    @add("swiglu")
    def _(r: int, c: int) -> None:
        differentiate(ops.LigerSiLUMulFunction.apply(rand(r, c), rand(r, c)))

    @add("swiglu_tiled")
    def _(r: int, c: int) -> None:
        differentiate(
            ops.LigerSiLUMulFunction.apply(rand(r, c + 70000), rand(r, c + 70000))
        )

    @add("swiglu_fused_gate_up")
    def _(r: int, c: int) -> None:
        differentiate(ops.LigerFusedGateUpSiLUMulFunction.apply(rand(r, 2 * c)))

    @add("relu_squared")
    def _(r: int, c: int) -> None:
        differentiate(ops.LigerReLUSquaredFunction.apply(rand(r, c)))

    @add("softmax_single")
    def _(r: int, c: int) -> None:
        differentiate(ops.LigerSoftmaxFunction.apply(rand(r, c)))

    @add("softmax_multi")
    def _(r: int, c: int) -> None:
        differentiate(ops.LigerSoftmaxFunction.apply(rand(r, c + 70000)))

    @add("sparsemax")
    def _(r: int, c: int) -> None:
        differentiate(ops.LigerSparsemaxFunction.apply(rand(r, c), -1))

    @add("rope")
    def _(r: int, c: int) -> None:
        q, k = rand(2, 8, r, 64), rand(2, 2, r, 64)
        cos = torch.randn(1, r, 64)
        differentiate(*ops.LigerRopeFunction.apply(q, k, cos, torch.randn(1, r, 64)))

    @add("qwen2vl_mrope")
    def _(r: int, c: int) -> None:
        q, k = rand(2, 8, r, 64), rand(2, 2, r, 64)
        cos = torch.randn(3, 2, r, 64)
        differentiate(
            *ops.LigerQwen2VLMRopeFunction.apply(
                q, k, cos, torch.randn(3, 2, r, 64), [8, 12, 12]
            )
        )

    @add("llama4_rope")
    def _(r: int, c: int) -> None:
        q, k = rand(2, r, 8, 64), rand(2, r, 2, 64)
        freqs = torch.randn(r, 32, dtype=torch.complex64)
        differentiate(*ops.LigerLlama4RopeFunction.apply(q, k, freqs))

    @add("embedding")
    def _(r: int, c: int) -> None:
        from liger_kernel.ops.experimental.embedding import LigerEmbeddingFunction

        differentiate(
            LigerEmbeddingFunction.apply(rand(77 + r, c), torch.randint(0, 70, (r, 3)))
        )

    for weighted in (False, True):
        for smooth in (0.0, 0.1):
            for cap in (None, 30.0):
                flags = zip("wsc", (weighted, smooth, cap), strict=True)
                tag = "".join(letter for letter, on in flags if on)

                @add(f"cross_entropy_{tag}")
                def _(
                    r: int,
                    c: int,
                    weighted: bool = weighted,
                    smooth: float = smooth,
                    cap: Any = cap,
                ) -> None:
                    w = torch.rand(c) if weighted else None
                    loss = ops.LigerCrossEntropyFunction.apply(
                        rand(r, c),
                        labels(r, c),
                        w,
                        -100,
                        0.1 if smooth else 0.0,
                        smooth,
                        "mean",
                        cap,
                        True,
                        True,
                        True,
                    )
                    differentiate(*loss)

    @add("cross_entropy_none")
    def _(r: int, c: int) -> None:
        differentiate(
            *ops.LigerCrossEntropyFunction.apply(
                rand(r, c), labels(r, c), None, -100, 0.0, 0.0, "none", None, False
            )
        )

    @add("fused_linear_cross_entropy")
    def _(r: int, c: int) -> None:
        differentiate(
            *ops.LigerFusedLinearCrossEntropyFunction.apply(
                rand(r * 3, 40 + r), rand(c, 40 + r), labels(r * 3, c)
            )
        )

    @add("vocab_parallel_ce")
    def _(r: int, c: int) -> None:
        differentiate(
            ops.LigerVocabParallelCEFunction.apply(
                rand(r, 3, c),
                torch.randint(0, c, (r, 3)),
                None,
                -100,
                0.0,
                "megatron",
                "forward",
            )
        )

    @add("jsd")
    def _(r: int, c: int) -> None:
        differentiate(
            ops.LigerJSDFunction.apply(
                rand(r, c), torch.randn(r, c), labels(r, c), 0.5, -100
            )
        )

    @add("jsd_no_label")
    def _(r: int, c: int) -> None:
        differentiate(
            ops.LigerJSDFunction.apply(rand(r, c), torch.randn(r, c), None, 0.3, -100)
        )

    @add("fused_linear_jsd")
    def _(r: int, c: int) -> None:
        differentiate(
            ops.LigerFusedLinearJSDFunction.apply(
                rand(r, 30 + r),
                rand(c, 30 + r),
                torch.randn(r, 30 + r),
                torch.randn(c, 30 + r),
                labels(r, c),
                0.5,
                -100,
                1.0,
            )
        )

    for reduction in ("batchmean", "none"):
        for log in (False, True):

            @add(f"kl_div_{reduction}_{log}")
            def _(r: int, c: int, reduction: str = reduction, log: bool = log) -> None:
                differentiate(
                    ops.LigerKLDivLossFunction.apply(
                        rand(r, c), torch.rand(r, c), reduction, log
                    )
                )

    for reduction in ("batchmean", "none"):

        @add(f"tvd_{reduction}")
        def _(r: int, c: int, reduction: str = reduction) -> None:
            differentiate(
                ops.LigerTVDLossFunction.apply(
                    rand(r, c), torch.rand(r, c), labels(r, c), reduction
                )
            )

    @add("fused_ce_tvd")
    def _(r: int, c: int) -> None:
        differentiate(
            *ops.LigerFusedCETVDFunction.apply(
                rand(r, c), torch.randn(r, c), labels(r, c), -100
            )
        )

    @add("fused_linear_kl_div")
    def _(r: int, c: int) -> None:
        differentiate(
            ops.LigerFusedLinearKLDivFunction.apply(
                rand(r, 30 + r), rand(c, 30 + r), torch.rand(r, c), None
            )
        )

    @add("attn_res")
    def _(r: int, c: int) -> None:
        differentiate(
            ops.LigerAttnResFunction.apply(rand(5, 2, r, c), rand(c), rand(c), 1e-6)
        )

    @add("multi_token_attention")
    def _(r: int, c: int) -> None:
        differentiate(
            ops.LigerMultiTokenAttentionFunction.apply(
                rand(2, 3, 40 + r, 40 + r), rand(3, 3, 3, 3), rand(3), 1, 1, 1, 1, False
            )
        )

    @add("neighborhood_attention")
    def _(r: int, c: int) -> None:
        differentiate(
            ops.LigerFusedNeighborhoodAttentionFunction.apply(
                rand(2, 3, 60 + r, 32),
                rand(2, 3, 60 + r, 32),
                rand(2, 3, 60 + r, 32),
                7,
                1,
                None,
            )
        )

    @add("grpo")
    def _(r: int, c: int) -> None:
        from liger_kernel.ops.grpo_loss import GrpoLossFunction

        logits = rand(2, r + 1, c)
        ids = torch.randint(0, c, (2, r))
        out = GrpoLossFunction.apply(
            logits,
            torch.randn(2, r),
            torch.randn(2, r),
            ids,
            torch.randn(2),
            torch.ones(2, r, dtype=torch.int64),
            0.9,
            0.04,
            0.2,
            0.2,
            False,
        )
        differentiate(*out)

    @add("grpo_sequence")
    def _(r: int, c: int) -> None:
        from liger_kernel.ops.grpo_loss import GrpoLossFunction

        logits = rand(2, r + 1, c)
        ids = torch.randint(0, c, (2, r))
        out = GrpoLossFunction.apply(
            logits,
            torch.randn(2, r),
            torch.randn(2, r),
            ids,
            torch.randn(2),
            torch.ones(2, r, dtype=torch.int64),
            0.9,
            0.04,
            0.2,
            0.2,
            False,
            "grpo",
            None,
            True,
            "sequence",
        )
        differentiate(*out)

    @add("selective_log_softmax")
    def _(r: int, c: int) -> None:
        from liger_kernel.ops.grpo_loss import fused_selective_log_softmax

        fused_selective_log_softmax(
            torch.randn(2, r + 1, c), torch.randint(0, c, (2, r)), 0.9
        )

    @add("mhc_pre")
    def _(r: int, c: int) -> None:
        differentiate(
            ops.LigerMHCPreFunction.apply(
                rand(r, 4, c, dtype=torch.bfloat16), rand(r, 4)
            )
        )

    @add("mhc_post_res")
    def _(r: int, c: int) -> None:
        b = torch.bfloat16
        differentiate(
            ops.LigerMHCPostResFunction.apply(
                rand(r, 4, c, dtype=b), rand(r, c, dtype=b), rand(r, 4), rand(r, 4, 4)
            )
        )

    @add("mhc_coeffs")
    def _(r: int, c: int) -> None:
        b = torch.bfloat16
        m = 4 + 4 + 16
        differentiate(
            *ops.LigerMHCCoeffsFunction.apply(
                rand(r, 4, c, dtype=b),
                rand(4 * c, m, dtype=b),
                rand(m),
                rand(),
                rand(),
                rand(),
                False,
                20,
                1e-6,
                1e-6,
                1e-6,
                2.0,
            )
        )

    @add("fused_moe")
    def _(r: int, c: int) -> None:
        h, i, e, k, t = 64 + 8 * r, 128, 4, 2, r * 40
        differentiate(
            ops.LigerFusedMoEFunction.apply(
                rand(t, h),
                rand(e, 2 * i, h),
                rand(e, h, i),
                torch.randint(0, e, (t, k)),
                torch.rand(t, k),
            )
        )

    @add("element_mul")
    def _(r: int, c: int) -> None:
        from liger_kernel.ops.cross_entropy import cross_entropy_backward

        cross_entropy_backward(torch.randn(r, c), torch.tensor(2.0))

    @add("int8_int2")
    def _(r: int, c: int) -> None:
        from liger_kernel.ops.experimental.mm_int8int2 import matmul

        matmul(
            torch.randint(0, 3, (16 * r, 512), dtype=torch.int8),
            torch.randint(0, 3, (128, 16 * r), dtype=torch.uint8),
        )

    @add("mlp")
    def _(r: int, c: int) -> None:
        b = torch.bfloat16
        h, i = 64 * r, 128 * r
        differentiate(
            ops.LigerMLPFunction.apply(
                rand(r * 32, h, dtype=b),
                rand(i, h, dtype=b),
                rand(i, h, dtype=b),
                rand(h, i, dtype=b),
            )
        )

    return found


def launches(case: Case, rows: int, columns: int) -> tuple[list[Recording], str]:
    """Return what a case launches, and the error that ended it, if one did."""
    torch.manual_seed(0)
    error = ""
    with warnings.catch_warnings(), pretended_device(), recorded() as found:
        warnings.simplefilter("ignore")
        try:
            case(rows, columns)
        except Exception as caught:
            error = f"{type(caught).__name__}: {str(caught)[:200]}"
    return found, error
