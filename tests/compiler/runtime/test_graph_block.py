"""Memory that a recording knows by its address alone."""

import gc
import random
from typing import Any
from weakref import ref

import pytest
import torch

from compiler.runtime.graph_block import Block
from compiler.runtime.graph_memory import _OWNERS, Recording, owner
from compiler.runtime.graphs import GraphedCall, Record, record_cuda
from tests.compiler.runtime.test_graphs import ON_GPU, Recorder, doubled


def test_views_lie_where_the_tensor_lay() -> None:
    memory = torch.arange(12.0)
    views = [memory.view(3, 4).t()[1:], memory.view(torch.int32)[3:5], memory[2]]
    block = Block.of(memory.untyped_storage(), 3)
    makers = [block.views(view) for view in views]
    handle = block.open()
    made = [make([]) for make in makers]
    for one, two in zip(made, views, strict=True):
        assert one.data_ptr() == two.data_ptr() and torch.equal(one, two)
        assert one.dtype == two.dtype and one.stride() == two.stride()
        assert one.untyped_storage()._cdata == handle == block.handle
    memory[2] = 77  # the block owns nothing: it sees what is written
    assert made[2] == 77
    assert (block.nbytes, block.since, block.device.type) == (48, 3, "cpu")


def test_it_is_gone_when_nobody_holds_a_storage_there() -> None:
    lasting = bytearray(16)
    memory = torch.frombuffer(lasting, dtype=torch.float32)
    block = Block.of(memory.untyped_storage(), 0)
    views = block.views(memory[1:3])
    assert not block.gone()
    del memory
    assert block.gone()
    block.open()
    view = views([])
    block.close()
    assert not block.gone()
    part = view[1:]
    del view
    assert not block.gone()
    del part
    assert block.gone()


def test_who_holds_the_storage_that_owned_it_counts_on() -> None:
    lasting = bytearray(16)
    keep = torch.frombuffer(lasting, dtype=torch.float32)
    owning = keep.view(2, 2)
    block = Block.of(owning.untyped_storage(), 0)
    block.open()
    block.close()
    del keep
    assert not block.gone()
    del owning
    assert block.gone()


# two passes forward, two back


class Chain:
    """Passes that keep the square of x for a backward pass that may write over it."""

    def __init__(self, device: str = "cpu") -> None:
        self.recorder, self.device = Recorder(), device
        self.weights = [torch.tensor(2.0, device=device) for _ in range(2)]
        record: Record = self.recorder if device == "cpu" else record_cuda

        def forward(args: list[Any]) -> tuple[Any, ...]:
            x, weight = args
            args.clear()
            return x * weight, x * x

        def backward(args: list[Any]) -> tuple[Any, ...]:
            scale, square = args
            args.clear()
            sum_, scaled = square.sum(), square * scale
            del square
            return scaled.clone(), sum_

        self.forward = [GraphedCall(forward, shown=1, record=record) for _ in range(2)]
        self.backward = [
            GraphedCall(backward, donated=(1,), record=record) for _ in range(2)
        ]

    @property
    def calls(self) -> list[GraphedCall]:
        return [*self.forward, *self.backward]

    def begin(self, number: float) -> list[torch.Tensor]:
        x, kept = torch.full((64,), float(number), device=self.device), []
        for forward, weight in zip(self.forward, self.weights, strict=True):
            x, square = forward([x, weight])
            kept.append(square)
        assert x.tolist() == [4.0 * number] * 64
        return kept

    def end(self, which: int, number: float, kept: list[Any]) -> torch.Tensor:
        args = [torch.tensor(3.0, device=self.device), kept[which]]
        kept[which] = None
        scaled, total = self.backward[which](args)
        square = (number * 2**which) ** 2
        assert scaled.tolist() == [3 * square] * 64 and total.item() == 64 * square
        result: torch.Tensor = scaled
        return result

    def steps(self, count: int) -> None:
        for number in range(count):
            kept = self.begin(number)
            for which in (1, 0):
                self.end(which, number, kept)


def test_what_is_kept_dies_while_the_backward_pass_is_recorded() -> None:
    chain = Chain()
    chain.steps(10)
    pools = {r.pool for call in chain.calls for r in call.recordings}
    assert len(pools) == 1 and all(len(c.recordings) == 1 for c in chain.calls)
    assert all(call.replays == 9 for call in chain.calls)
    for call in chain.backward:
        (recording,) = call.recordings
        assert len(recording.taken) == 1
    assert chain.recorder.given_again >= 4


def test_backward_passes_in_another_order_than_recorded() -> None:
    chain = Chain()
    for number in range(12):
        kept = chain.begin(number)
        for which in (1, 0) if number < 6 else (0, 1):
            chain.end(which, number, kept)
    assert all(call.replays >= 9 for call in chain.calls)


def test_memory_lasts_while_somebody_holds_what_a_recording_let_go_of() -> None:
    chain = Chain()
    chain.steps(4)
    kept = chain.begin(5)
    assert all(r.taken for call in chain.backward for r in call.recordings)
    recorder = chain.recorder
    (memory,) = [ref(memory) for memory in recorder.pools.values()]
    del chain
    gc.collect()
    assert memory() is not None
    assert [square.tolist() for square in kept] == [[25.0] * 64, [100.0] * 64]
    kept.clear()
    x, weight = torch.ones(4), torch.tensor(2.0)
    other = GraphedCall(doubled, record=recorder)
    other([x, weight]), other([x, weight])
    assert memory() is None


def test_a_backward_pass_that_is_recorded_again_has_memory_of_its_own() -> None:
    chain = Chain()
    chain.steps(4)
    (pool,) = {r.pool for call in chain.calls for r in call.recordings}
    chain.backward[1] = GraphedCall(
        chain.backward[1].run, donated=(1,), record=chain.recorder
    )
    chain.steps(4)
    (again,) = chain.backward[1].recordings
    assert again.pool is not pool and not again.taken
    assert chain.backward[1].replays == 3


def test_memory_of_a_recording_that_is_gone_is_not_written() -> None:
    chain = Chain()
    chain.steps(4)
    kept = chain.begin(5)
    chain.end(0, 5, kept)
    del chain.forward[1]
    gc.collect()
    for number in range(3):
        chain.forward[0]([torch.full((64,), float(number)), chain.weights[0]])
    assert kept[1].tolist() == [100.0] * 64


def test_what_others_hold_is_not_let_go_of() -> None:
    chain, held = Chain(), []
    recordings: list[Recording] = []
    for number in range(4):
        kept = chain.begin(number)
        held.append(kept[1][1:])
        for which in (1, 0):
            chain.end(which, number, kept)
        assert held[-1].tolist() == [4.0 * number**2] * 63
        recordings += chain.backward[1].recordings
    assert recordings and not any(recording.taken for recording in recordings)


def test_a_storage_where_another_was_is_not_a_recordings() -> None:
    chain = Chain()
    for number in range(4):
        chain.end(1, number, chain.begin(number))
    (recording,) = chain.forward[1].recordings
    kept = chain.begin(4)
    assert owner(kept[1]) is recording
    x = torch.ones(3)
    _OWNERS[x.untyped_storage()._cdata] = recording
    assert owner(x) is None


@pytest.mark.parametrize("seed", range(6))
def test_no_order_of_passes_changes_what_was_kept(seed: int) -> None:
    draw, chain = random.Random(seed), Chain()
    weight = torch.tensor(2.0)
    then = GraphedCall(doubled, record=chain.recorder)
    pending: list[tuple[int, list[Any]]] = []
    held: list[tuple[torch.Tensor, list[float]]] = []
    for number in range(160):
        kind = draw.choice(["begin"] * 3 + ["end"] * 6 + ["then", "drop", "move"])
        if kind == "begin":
            pending.append((number, chain.begin(number)))
        elif kind == "end" and pending:
            of, kept = draw.choice(pending[-2:])
            left = [which for which in (1, 0) if kept[which] is not None]
            which = left[0] if draw.random() < 0.8 else left[-1]
            found = chain.end(which, of, kept)
            if draw.random() < 0.2:
                held.append((found, found.tolist()))
            if len(left) == 1:
                pending.remove((of, kept))
            del kept, found
        elif kind == "then" and held:
            x, values = draw.choice(held)
            (found,) = then([x, weight])
            assert found.tolist() == [2 * value for value in values]
            held.append((found, found.tolist()))
            del x, found
        elif kind == "drop":
            draw.shuffle(held)
            del held[: draw.randrange(1 + len(held))]
            del pending[: max(0, len(pending) - 2)]
        elif kind == "move" and draw.random() < 0.3:
            chain.weights[draw.randrange(2)] = torch.tensor(2.0)
        for tensor, values in held:
            assert tensor.tolist() == values
        for of, kept in pending:
            for which, square in enumerate(kept):
                if square is not None:
                    assert square.tolist() == [float((of * 2**which) ** 2)] * 64
    assert not any(call.reason for call in chain.calls)


# on a GPU


@pytest.mark.gpu
@ON_GPU
@pytest.mark.parametrize("swapped", [False, True])
def test_cuda_graphs_give_what_is_kept_to_the_backward_pass(swapped: bool) -> None:
    chain = Chain("cuda")
    for number in range(12):
        kept = chain.begin(number)
        for which in (0, 1) if swapped and number > 5 else (1, 0):
            chain.end(which, number, kept)
    assert not any(call.reason for call in chain.calls)
    assert all(call.replays >= 9 for call in chain.calls)
    if not swapped:
        assert all(r.taken for call in chain.backward for r in call.recordings)


@pytest.mark.gpu
@ON_GPU
def test_both_passes_take_less_memory_than_side_by_side() -> None:
    """Sixteen squares are kept, and the backward pass makes as many, one by one."""
    size, weight = 2**22, torch.tensor(2.0, device="cuda")

    def forward(args: list[Any]) -> tuple[Any, ...]:
        x, weight = args
        args.clear()
        return (x * weight).sum(), *(x + number for number in range(16))

    def backward(args: list[Any]) -> tuple[Any, ...]:
        kept = args[1:]
        args.clear()
        squares: list[torch.Tensor] = []
        while kept:
            squares.append(kept[0].square())
            del kept[0]
        return (torch.stack([square.double().sum() for square in squares]).sum(),)

    def reserved(donated: tuple[int, ...]) -> int:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_reserved()
        first = GraphedCall(forward, shown=1)
        second = GraphedCall(backward, donated=donated)
        for number in range(4):
            x = torch.full((size,), float(number), device="cuda")
            _, *kept = first([x, weight])
            args = [weight, *kept]
            kept.clear()
            (total,) = second(args)
            wanted = size * sum((number + n) ** 2 for n in range(16))
            assert abs(total.item() / wanted - 1) < 1e-12
            del total, x
        assert second.replays == 3 and not second.reason
        return torch.cuda.max_memory_reserved() - before

    assert reserved(tuple(range(1, 17))) < 0.8 * reserved(())
