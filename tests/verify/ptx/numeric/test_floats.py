import numpy as np
import pytest
import torch

from verify.ptx.numeric.floats import from_bits, from_halves, halves, to_bits

DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16}


@pytest.mark.parametrize("kind", DTYPES)
def test_all_patterns_come_back(kind: str) -> None:
    bits = np.arange(1 << 16, dtype=np.uint64)
    values = from_bits(bits, kind)
    due = torch.from_numpy(bits.astype(np.int32).astype(np.int16)).view(DTYPES[kind])
    assert np.array_equal(values, due.double().numpy(), equal_nan=True)
    number = np.isfinite(values)
    assert (to_bits(values, kind)[number] == bits[number]).all()


@pytest.mark.parametrize("kind", DTYPES)
def test_rounding_is_torchs(kind: str) -> None:
    rng = np.random.default_rng(0)
    exponents = (
        rng.integers(-140, 120, 4000) if kind == "bf16" else rng.integers(-26, 16, 4000)
    )
    values = np.ldexp(rng.standard_normal(4000), exponents)
    values = values.astype(np.float32)
    due = torch.from_numpy(values).to(DTYPES[kind]).view(torch.int16).numpy()
    got = to_bits(values.astype(np.float64), kind).astype(np.uint16).view(np.int16)
    assert (got == due).all()


def test_infinities_and_overflow() -> None:
    values = np.array([np.inf, -np.inf, 1e39, 0.0, -0.0])
    assert to_bits(values, "bf16").tolist() == [0x7F80, 0xFF80, 0x7F80, 0, 0x8000]


def test_wide_floats() -> None:
    values = np.array([1.5, -2.25])
    for kind in ("f32", "f64"):
        assert from_bits(to_bits(values, kind), kind).tolist() == [1.5, -2.25]
    bits = np.array([0x3F801FFF], np.uint64)
    assert from_bits(bits, "tf32").tolist() == [1.0]


def test_halves() -> None:
    low, high = np.array([1.0]), np.array([-3.0])
    word = from_halves(low, high, "bf16")
    assert hex(int(word[0])) == "0xc0403f80"
    assert [part.tolist() for part in halves(word, "bf16")] == [[1.0], [-3.0]]
