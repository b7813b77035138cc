import pytest
import torch

from algebra.errors import DimMismatchError, OutOfRangeError
from compiler.errors import NotATensorError
from compiler.mixed.checkpoints import from_awq, from_gptq

AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]


def words(values: torch.Tensor) -> torch.Tensor:
    """Pack the last axis of eight, lowest bits first."""
    wide = values.to(torch.int64)
    total = sum(wide[..., i] << 4 * i for i in range(8))
    assert isinstance(total, torch.Tensor)
    return (total - (total >> 31 << 32)).to(torch.int32)


def test_awq() -> None:
    codes = torch.randint(0, 16, (128, 24))
    zeros = torch.randint(0, 16, (2, 24))
    scales = torch.rand(2, 24)
    packed = [words(t.view(t.shape[0], -1, 8)[..., AWQ_ORDER]) for t in (codes, zeros)]
    found = from_awq(packed[0], packed[1], scales)
    assert torch.equal(found.codes, codes.T.to(torch.uint8))
    assert torch.equal(found.zeros, zeros.T.to(torch.uint8))
    assert torch.equal(found.scales, scales.T)


def test_gptq() -> None:
    codes = torch.randint(0, 16, (128, 24))
    zeros = torch.randint(1, 16, (2, 24))
    scales = torch.rand(2, 24)
    qweight = words(codes.view(16, 8, 24).transpose(1, 2))
    qzeros = words((zeros - 1).view(2, 3, 8))
    found = from_gptq(qweight, qzeros, scales, torch.arange(128) // 64)
    assert torch.equal(found.codes, codes.T.to(torch.uint8))
    assert torch.equal(found.zeros, zeros.T.to(torch.uint8))
    with pytest.raises(OutOfRangeError, match="act-order"):
        from_gptq(qweight, qzeros, scales, torch.arange(128).flip(0) // 64)
    with pytest.raises(DimMismatchError, match="scales="):
        from_gptq(qweight, qzeros, scales[:, :3])
    with pytest.raises(OutOfRangeError, match="means 16"):
        from_gptq(qweight, torch.full_like(qzeros, -1), scales)


def test_what_is_no_matrix_of_words() -> None:
    with pytest.raises(NotATensorError, match="qweight"):
        from_awq(torch.zeros(4, 4), torch.zeros(1, 1), torch.zeros(1, 1))
