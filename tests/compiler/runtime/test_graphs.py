"""CUDA graphs' rules, with a recorder that repeats the work on a CPU."""

import ctypes
import gc
import random
import subprocess
import sys
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import pytest
import torch
from torch.multiprocessing.reductions import StorageWeakRef

from compiler.errors import FallbackWarning
from compiler.runtime.graphs import MOST, GraphedCall, Record, Run, record_cuda


def at_address(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor of the same elements that does not hold their memory."""
    storage = tensor.untyped_storage()
    if not storage.nbytes():
        return torch.empty_like(tensor)
    memory = (ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr())
    flat = torch.frombuffer(memory, dtype=tensor.dtype)
    return flat.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


class Place:
    """Memory of a recorder's pool, and who was given it."""

    def __init__(self, nbytes: int) -> None:
        self.memory = ctypes.create_string_buffer(nbytes)
        self.user: StorageWeakRef | None = None

    def free(self) -> bool:
        return self.user is None or self.user.expired()

    def given(self) -> torch.UntypedStorage:
        """Return a storage here, which does not see to it that the memory lasts."""
        here: Any = torch.frombuffer(self.memory, dtype=torch.uint8)
        storage: torch.UntypedStorage = here.untyped_storage()
        self.user = StorageWeakRef(storage)
        return storage

    def write(self, content: torch.UntypedStorage | None) -> None:
        if content:
            ctypes.memmove(self.memory, content.data_ptr(), len(self.memory))
        else:
            ctypes.memset(self.memory, 255, len(self.memory))


class Memory(list[Place]):
    """Of a pool: it lasts as long as a replay that was recorded in it."""


class Recorder:
    """Stands for a CUDA graph: replays read and write addresses, of the recording.

    Memory of a pool is given again when nobody holds it. A recording leaves
    inputs as they were. A replay destroys all of its pool that was free when it was
    recorded, as if its temporaries lay there.
    """

    def __init__(self) -> None:
        self.recorded = self.replayed = self.given_again = 0
        self.pools: WeakValueDictionary[int, Memory] = WeakValueDictionary()

    def __call__(self, run: Run, args: list[Any], pool: Any) -> Any:
        self.recorded += 1
        pool = self.recorded if pool is None else pool
        places = self.pools.setdefault(pool, Memory())
        inputs = [at_address(a) if isinstance(a, torch.Tensor) else a for a in args]
        memory = [a.untyped_storage() for a in inputs if isinstance(a, torch.Tensor)]
        before = [storage.clone() for storage in memory]
        homes = {storage.data_ptr() for storage in memory}
        fresh = run(args)
        for storage, content in zip(memory, before, strict=True):
            storage.copy_(content)
        tensors = [r for r in fresh if isinstance(r, torch.Tensor)]
        sizes = [max(1, tensor.untyped_storage().nbytes()) for tensor in tensors]
        places += [Place(size) for size in 2 * sizes]
        free = [place for place in places if place.free()]
        news: dict[int, tuple[Place, torch.UntypedStorage]] = {}
        results: list[Any] = []
        result: Any = None
        for result in fresh:
            if not isinstance(result, torch.Tensor):
                results.append(result)
                continue
            size = result.untyped_storage().nbytes()
            home = result.untyped_storage().data_ptr()
            if home in homes:
                results.append(result)
                continue
            if home not in news:
                same = [p for p in free if len(p.memory) == size]
                same = [p for p in same if p.free()]
                self.given_again += bool(same)
                place = same[0] if same else Place(size)
                places += [] if same else [place]
                news[home] = place, place.given()
            view = torch.empty(0, dtype=result.dtype)
            of = result.storage_offset(), result.shape, result.stride()
            results.append(view.set_(news[home][1], *of))
        order = [
            news[r.untyped_storage().data_ptr()][0]
            if isinstance(r, torch.Tensor) and r.untyped_storage().data_ptr() in news
            else None
            for r in fresh
        ]
        del fresh, news, result, tensors

        def replay() -> None:
            self.replayed += 1
            assert places is not None  # they last as long as this function
            found = run(list(inputs))
            for place in free:
                place.write(None)
            for chosen, made in zip(order, found, strict=True):
                if chosen is not None:
                    chosen.write(made.untyped_storage())

        return tuple(results), replay, pool


def doubled(args: list[Any]) -> tuple[Any, ...]:
    x, weight = args
    args.clear()
    return (x * weight,)


class Pair:
    """A forward pass that keeps x, w, and the square of x; and its backward pass.

    The square is the backward pass's alone, which writes over it ("written"), or lets
    it die before it makes its results ("dead"); or others may read it ("shared").
    """

    def __init__(
        self, *, refuse: bool = False, square: str = "written", device: str = "cpu"
    ) -> None:
        self.recorder, self.size, self.runs = Recorder(), 2**10, 0
        self.device = device
        self.weight = torch.tensor(3.0, device=device)

        def forward(args: list[Any]) -> tuple[Any, ...]:
            self.runs += 1
            x, weight = args
            args.clear()
            square = x * x
            return (square * weight).sum(), x, weight, square

        def backward(args: list[Any]) -> tuple[Any, ...]:
            self.runs += 1
            tangent, x, weight, kept = args
            args.clear()
            gradient = (kept * tangent).sum()
            result = 2 * x * weight * tangent
            if square == "written":
                result = kept.copy_(result)
            elif square == "dead":
                del kept
                result = result.clone()
            return result, gradient, tangent

        def refused(run: Run, args: list[Any], pool: Any) -> Any:
            raise RuntimeError("operation not permitted when stream is capturing")

        record: Record = self.recorder if device == "cpu" else record_cuda
        first = refused if refuse else record
        self.forward = GraphedCall(forward, shown=1, record=first)
        self.backward = GraphedCall(
            backward,
            written=(3,) if square == "written" else (),
            donated=() if square == "shared" else (3,),
            record=record,
        )
        self.junk: list[torch.Tensor] = []

    def begin(self, number: float) -> tuple[torch.Tensor, list[torch.Tensor]]:
        x = torch.full((self.size,), float(number), device=self.device)
        self.junk.append(x)  # so that the next one lies elsewhere
        loss, *saved = self.forward([x, self.weight])
        assert loss.item() == self.size * 3 * number**2
        return loss, saved

    def end(self, number: float, saved: list[torch.Tensor]) -> tuple[Any, ...]:
        tangent = torch.tensor(0.5, device=self.device)
        self.junk.append(tangent)
        args = [tangent, *saved]
        saved.clear()
        del tangent
        gradients = self.backward(args)
        self.check(number, gradients)
        return gradients

    def check(self, number: float, gradients: Any) -> None:
        assert (gradients[0] == 3.0 * number).all() and gradients[
            0
        ].numel() == self.size
        assert gradients[1].item() == self.size * number**2 / 2
        assert gradients[2].item() == 0.5

    def copies(self) -> set[int]:
        """Numbers of what the backward pass's recordings copy."""
        return {n for r in self.backward.recordings for n in r.copied}


def test_the_second_call_records_and_moving_inputs_are_copied() -> None:
    recorder, weight = Recorder(), torch.tensor(3.0)
    call = GraphedCall(doubled, record=recorder)
    for number in range(6):
        x = torch.full((4,), float(number))
        keep = torch.empty(number + 1)  # so that x lies elsewhere each time
        (result,) = call([x, weight])
        assert result.tolist() == [3.0 * number] * 4
        del result, keep
    assert recorder.recorded <= 2 and recorder.replayed == 5


def test_a_held_result_never_changes() -> None:
    recorder, weight = Recorder(), torch.tensor(2.0)
    call = GraphedCall(doubled, record=recorder)
    held = [call([torch.full((4,), float(n)), weight])[0][1:] for n in range(8)]
    for number, view in enumerate(held):
        assert view.tolist() == [2.0 * number] * 3
    assert recorder.recorded == MOST
    held.clear()
    assert call([torch.ones(4), weight])[0].tolist() == [2.0] * 4
    assert recorder.recorded == MOST and recorder.replayed == MOST + 1


def test_a_static_input_that_moves_is_recorded_anew() -> None:
    recorder, x = Recorder(), torch.ones(2)
    call = GraphedCall(doubled, record=recorder)
    weights = [torch.tensor(float(n)) for n in range(3)]
    for weight in (weights[0], weights[0], weights[1], weights[2]):
        assert call([x, weight])[0].tolist() == [weight.item()] * 2
    assert recorder.recorded == 2


def test_inputs_that_keep_moving_are_said_to() -> None:
    def total(args: list[Any]) -> tuple[Any, ...]:
        found = torch.stack(args).sum(0)
        args.clear()
        return (found,)

    call = GraphedCall(total, name="forward", record=Recorder())
    inputs = [torch.ones(2) for _ in range(20)]
    call(list(inputs)), call(list(inputs))
    with pytest.warns(FallbackWarning, match=r"forward .* slower, .* keep moving") as w:
        for number in range(20):
            inputs[number] = torch.ones(2)
            assert call(list(inputs))[0].tolist() == [20.0] * 2
    assert len(w) == 1 and call.reason and not call.recordings


def test_what_is_written_reaches_an_input_that_was_copied() -> None:
    def add_one(args: list[Any]) -> tuple[Any, ...]:
        args[0].add_(1)
        args.clear()
        return ()

    recorder = Recorder()
    call = GraphedCall(add_one, written=[0], record=recorder)
    states = [torch.full((3,), 10.0 * number) for number in range(4)]
    for number, state in enumerate(states):
        call([state])
        assert state.tolist() == [10.0 * number + 1] * 3
    assert recorder.recorded == 1 and recorder.replayed == 3


def test_what_is_written_stays_in_an_input_that_does_not_move() -> None:
    def add_one(args: list[Any]) -> tuple[Any, ...]:
        args[0].add_(1)
        state = args[0]
        args.clear()
        return state, state[1:]

    recorder, state = Recorder(), torch.zeros(3)
    call = GraphedCall(add_one, written=[0], record=recorder)
    for number in range(5):
        same, view = call([state])
        assert (
            state.tolist() == [number + 1.0] * 3 and view.tolist() == state.tolist()[1:]
        )
        assert same.data_ptr() == state.data_ptr()
        assert view.data_ptr() == state[1:].data_ptr()
    assert recorder.recorded == 1 and recorder.replayed == 4


@pytest.mark.parametrize("windows", [False, True])
def test_inputs_whose_elements_share_memory_may_move(windows: bool) -> None:
    recorder, weight = Recorder(), torch.tensor(2.0)
    call = GraphedCall(doubled, record=recorder)
    keep = []
    for number in range(5):
        x = torch.arange(6.0) + number
        keep.append(x)
        shown = x.unfold(0, 3, 1) if windows else x[:, None].expand(6, 3)
        assert torch.equal(call([shown, weight])[0], shown * 2)
    assert recorder.recorded == 1 and not call.reason


def test_shapes_have_recordings_of_their_own() -> None:
    recorder, weight = Recorder(), torch.tensor(2.0)
    call = GraphedCall(doubled, record=recorder)
    for size in (2, 3, 2, 3, 2, 3):
        assert call([torch.ones(size), weight])[0].tolist() == [2.0] * size
    assert recorder.recorded == 2


def test_work_that_cannot_be_recorded_runs_as_before_with_one_warning() -> None:
    def refuse(run: Run, args: list[Any], pool: Any) -> Any:
        raise RuntimeError("operation not permitted when stream is capturing")

    call = GraphedCall(doubled, record=refuse)
    with pytest.warns(FallbackWarning, match=r"slower, because .* not permitted") as w:
        for _ in range(4):
            assert call([torch.ones(2), torch.tensor(5.0)])[0].tolist() == [5.0] * 2
    assert "not permitted" in call.reason and len(w) == 1


# a forward pass and its backward pass


def test_a_backward_pass_reads_what_was_kept_where_it_lies() -> None:
    pair = Pair()
    loss = gradients = None
    for number in range(12):
        gradients = None  # as zero_grad does; the loss is held
        loss, saved = pair.begin(number)
        gradients = pair.end(number, saved)
    assert loss is not None and gradients is not None
    assert len(pair.forward.recordings) == len(pair.backward.recordings) == 1
    assert pair.copies() <= {0}  # the loss's gradient
    assert pair.recorder.recorded <= 4
    assert pair.recorder.replayed == 22  # all but the first of each
    (forward,), (backward,) = pair.forward.recordings, pair.backward.recordings
    assert forward.pool is backward.pool


def test_several_forward_passes_before_their_backward_passes() -> None:
    pair = Pair()
    for number in range(0, 16, 2):
        _, first = pair.begin(number)
        _, second = pair.begin(number + 1)
        pair.end(number + 1, second)
        pair.end(number, first)
        runs = pair.runs
    before = pair.recorder.recorded
    for number in range(4):
        saved = [pair.begin(number + n)[1] for n in range(2)]
        for n in range(2):
            pair.end(number + n, saved[n])
    assert pair.recorder.recorded == before and pair.copies() <= {0}
    assert pair.runs == runs + 16  # replays alone, which this recorder runs
    assert len(pair.forward.recordings) == 2


@pytest.mark.parametrize("square", ["shared", "written", "dead"])
def test_gradients_held_while_the_forward_pass_runs_never_change(square: str) -> None:
    pair = Pair(square=square)
    gradients: Any = None
    for number in range(10):
        _, saved = pair.begin(number)
        if gradients is not None:
            pair.check(number - 1, gradients)
        gradients = None
        gradients = pair.end(number, saved)
    pools = {recording.pool for recording in pair.forward.recordings}
    if square == "written":  # gradients lie in the forward pass's, used in turns
        assert len(pools) == 2
    else:  # one step without a graph, then the backward pass has a pool of its own
        assert len(pools) == 1
        assert not pools & {recording.pool for recording in pair.backward.recordings}
    assert pair.recorder.replayed == (18 if square == "written" else 16)


@pytest.mark.parametrize("square", ["shared", "written", "dead"])
def test_gradients_that_are_kept_for_good_never_change(square: str) -> None:
    pair = Pair(square=square)
    held: list[tuple[float, Any]] = []
    for number in range(12):
        _, saved = pair.begin(number)
        held.append((number, pair.end(number, saved)))
        for before, gradients in held:
            pair.check(before, gradients)
    held.clear()
    before = pair.recorder.recorded
    for number in range(4):
        pair.end(number, pair.begin(number)[1])
    assert pair.recorder.recorded <= before + 1


@pytest.mark.parametrize("square", ["shared", "written", "dead"])
def test_gradients_are_accumulated_over_calls(square: str) -> None:
    pair = Pair(square=square)
    for _ in range(6):
        total: Any = None
        for number in range(4):
            _, saved = pair.begin(number)
            gradient = pair.end(number, saved)[0]
            total = gradient if total is None else total.add_(gradient)
            del gradient
        assert total.tolist() == [18.0] * pair.size
        before = pair.recorder.recorded
    assert pair.recorder.recorded == before and pair.copies() <= {0}


def test_a_backward_pass_runs_twice() -> None:
    recorder, weight = Recorder(), torch.tensor(2.0)
    forward = GraphedCall(doubled, record=recorder)
    backward = GraphedCall(doubled, record=recorder)
    for number in range(8):
        (kept,) = forward([torch.full((4,), float(number)), weight])
        (first,) = backward([kept, weight])
        (second,) = backward([kept, weight])
        assert first.tolist() == second.tolist() == [4.0 * number] * 4
    assert not any(0 in r.copied for r in backward.recordings)


def test_a_forward_recording_that_is_dropped_leaves_its_results() -> None:
    pair = Pair()
    for number in range(4):
        pair.end(number, pair.begin(number)[1])
    _, saved = pair.begin(4)
    weights = [pair.weight, torch.tensor(3.0)]
    pair.weight = weights[1]
    _, other = pair.begin(5)  # the weight moved: the recording of `saved` goes
    gc.collect()
    pair.end(5, other)
    pair.end(4, saved)
    before = pair.recorder.replayed
    for number in range(6):
        pair.end(number, pair.begin(number)[1])
    assert pair.recorder.replayed >= before + 11 and not pair.backward.reason
    assert not pair.copies() & {1, 3}


def test_a_backward_pass_goes_on_after_the_forward_pass_gave_up() -> None:
    pair = Pair(refuse=True)
    with pytest.warns(FallbackWarning, match="slower"):
        for number in range(6):
            pair.end(number, pair.begin(number)[1])
    assert pair.forward.reason and not pair.backward.reason
    assert pair.backward.replays


def test_evaluation_between_steps() -> None:
    pair, weight = Pair(), torch.tensor(2.0)
    evaluate = GraphedCall(doubled, record=pair.recorder)
    scores = []
    for number in range(8):
        pair.end(number, pair.begin(number)[1])
        scores.append(evaluate([torch.full((4,), float(number)), weight])[0])
        pair.begin(number)  # without a backward pass
        for before, score in enumerate(scores):
            assert score.tolist() == [2.0 * before] * 4
    assert len(pair.forward.recordings) == len(pair.backward.recordings) == 1


def test_a_loop_through_one_function_needs_few_recordings() -> None:
    recorder, weight = Recorder(), torch.tensor(0.5)
    call = GraphedCall(doubled, record=recorder)
    state = torch.full((4,), 2.0**20)
    for number in range(20):
        (state,) = call([state, weight])
        assert state.tolist() == [2.0 ** (19 - number)] * 4
    assert recorder.recorded <= 5 and recorder.replayed >= 15


def test_a_loop_through_two_functions_needs_few_recordings() -> None:
    recorder, weight = Recorder(), torch.tensor(0.5)
    calls = [GraphedCall(doubled, record=recorder) for _ in range(2)]
    state = torch.full((4,), 2.0**20)
    for number in range(40):
        (state,) = calls[number % 2]([state, weight])
        assert state.tolist() == [2.0 ** (19 - number)] * 4
    assert recorder.recorded <= 10 and recorder.replayed >= 30


def test_an_input_that_lies_in_a_recording_now_and_then() -> None:
    recorder, weight = Recorder(), torch.tensor(2.0)
    first = GraphedCall(doubled, record=recorder)
    then = GraphedCall(doubled, record=recorder)
    keep = []
    for number in range(60):
        x = torch.full((4,), float(number))
        keep.append(x)
        if number % 2:
            (x,) = first([x, weight])
        assert then([x, weight])[0].tolist() == [2.0 * x[0].item()] * 4
    assert not then.reason and then.replays > 25


@pytest.mark.parametrize("seed", range(6))
def test_no_order_of_calls_changes_what_somebody_holds(seed: int) -> None:
    draw = random.Random(seed)
    pair, weight = (
        Pair(square=draw.choice(["shared", "written", "dead"])),
        torch.tensor(2.0),
    )
    then = GraphedCall(doubled, record=pair.recorder)
    pending: list[tuple[int, list[torch.Tensor]]] = []
    held: list[tuple[torch.Tensor, list[float]]] = []

    def hold(*tensors: torch.Tensor) -> None:
        kept = [t for t in tensors if draw.random() < 0.3]
        held.extend((t, t.flatten().tolist()) for t in kept)

    for number in range(150):
        kind = draw.choice(["begin", "begin", "end", "end", "then", "drop", "move"])
        if kind == "begin":
            loss, saved = pair.begin(number)
            pending.append((number, saved))
            hold(loss)
        elif kind == "end" and pending:
            hold(*pair.end(*pending.pop(draw.randrange(len(pending)))))
        elif kind == "then" and held:  # reads results, of other recordings or its own
            x, values = draw.choice(held)
            (result,) = then([x, weight])
            assert result.flatten().tolist() == [2 * value for value in values]
            hold(result)
            del x, result
        elif kind == "drop":
            draw.shuffle(held)
            del held[: draw.randrange(1 + len(held))]
            if len(pending) > 3:
                pending.pop(0)
        elif kind == "move" and draw.random() < 0.1:
            pair.weight = torch.tensor(3.0)
        for tensor, values in held:
            assert tensor.flatten().tolist() == values
    assert not pair.forward.reason and not pair.backward.reason


# on a GPU

ON_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.mark.gpu
@ON_GPU
def test_cuda_graphs_replay() -> None:
    weight = torch.tensor(3.0, device="cuda")
    call = GraphedCall(doubled)
    for number in range(5):
        x = torch.full((4,), float(number), device="cuda")
        assert call([x, weight])[0].tolist() == [3.0 * number] * 4
    assert not call.reason and call.replays == 4


@pytest.mark.gpu
@ON_GPU
@pytest.mark.parametrize("square", ["shared", "written", "dead"])
@pytest.mark.parametrize("held", [0, 1, 2])
def test_cuda_graphs_of_two_passes_share_memory(square: str, held: int) -> None:
    pair = Pair(square=square, device="cuda")
    gradients: list[tuple[float, Any]] = []
    for number in range(12):
        _, saved = pair.begin(number)
        for before, found in gradients:
            pair.check(before, found)
        found = None
        if held < 2:  # none is held while the backward pass runs
            gradients.clear()
        gradients = [*gradients, (number, pair.end(number, saved))][:held]
    assert not pair.forward.reason and not pair.backward.reason
    assert not pair.copies() & {1, 2, 3}
    if held == 0:
        (forward,), (backward,) = pair.forward.recordings, pair.backward.recordings
        assert forward.pool is backward.pool
        assert pair.forward.replays == pair.backward.replays == 11


UNENDED = """
import warnings, torch
from compiler.runtime.graphs import GraphedCall

def waits(args):
    (x,) = args
    args.clear()
    return (x * x.sum().item(),)

def doubled(args):
    (x,) = args
    args.clear()
    return (x * 2,)

first, then = GraphedCall(waits), GraphedCall(doubled)
x, before = torch.ones(4, device="cuda"), torch.cuda.current_stream()
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for _ in range(4):
        assert first([x])[0].tolist() == [4.0] * 4
        assert then([x])[0].tolist() == [2.0] * 4
        assert torch.cuda.current_stream() == before
assert first.reason and len(seen) == 1 + bool(then.reason), list(map(str, seen))
print("done", then.reason)
"""


@pytest.mark.gpu
@ON_GPU
def test_a_recording_that_cannot_end_leaves_the_stream(repository: Path) -> None:
    words = [sys.executable, "-c", UNENDED]
    done = subprocess.run(words, cwd=repository, capture_output=True, text=True)
    assert done.stdout.startswith("done"), done.stderr
