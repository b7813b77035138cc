from collections.abc import Callable, Sequence

import pytest

from algebra.encodings import Encoding
from algebra.layout import LinearLayout
from verify.legacy import DistributedModel, SharedModel
from verify.models import model_of

Simulate = Callable[[Encoding, Sequence[int]], int]


@pytest.fixture
def simulate() -> Simulate:
    """Run a formula on ints at every position of one block, against the layout."""

    def run(encoding: Encoding, shape: Sequence[int]) -> int:
        layout = encoding.to_linear_layout(shape)
        model = model_of(encoding, shape, shape, "3.9")
        if isinstance(model, SharedModel):
            return _shared(model, layout)
        assert isinstance(model, DistributedModel)
        return _distributed(model, layout)

    return run


def _distributed(model: DistributedModel, layout: LinearLayout) -> int:
    register, lane, warp = model.names
    sizes = layout.in_dims
    assert model.registers == sizes[register] and model.lanes == sizes[lane]
    assert model.warps == sizes.get(warp, 1)
    checked = 0
    for w in range(model.warps):
        for t in range(model.lanes):
            for r in range(model.registers):
                point = dict.fromkeys(sizes, 0) | {register: r, lane: t}
                if warp:
                    point[warp] = w
                place = model.position(r, t, w)
                assert place == list(layout.apply(point).values()), point
                checked += 1
    return checked


def _shared(model: SharedModel, layout: LinearLayout) -> int:
    total = 1
    for size in model.shape:
        total *= size
    for index in range(total):
        rest, coordinates = index, []
        for size in model.shape:
            coordinates.append(rest % size)
            rest //= size
        offset = model.offset(coordinates)
        for copy in (0, *model.spare):
            at = {"offset": offset ^ copy, "block": 0}
            assert list(layout.apply(at).values()) == coordinates
    return total
