import torch
import triton
import triton.language as tl

from verify.launches import recorded


@triton.jit  # type: ignore[untyped-decorator]
def scale(x, y, n, B: tl.constexpr, factor=2):  # type: ignore[no-untyped-def]  # noqa: N803
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + o, tl.load(x + o, mask=o < n) * factor, mask=o < n)


def test_a_launch_is_noted_and_does_not_run() -> None:
    x, y = torch.ones(5, 3), torch.zeros(15)
    with recorded() as found:
        scale[lambda meta: (triton.cdiv(15, meta["B"]),)](x, y, 15, B=4)
    (one,) = found
    assert one.name == "scale" and one.grid == (4,)
    assert one.tensors["x"].shape == (5, 3) and one.tensors["x"].dtype == "fp32"
    assert one.scalars == {"n": 15, "factor": 2} and one.constants == {"B": 4}
    assert y.sum() == 0


def test_launches_outside_the_block_are_not_noted() -> None:
    with recorded() as found:
        pass
    assert found == []
