"""Compiled graphs on disk: found again, and never mistaken for others."""

import io
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from compiler import torch_api
from compiler.errors import FallbackWarning
from compiler.frontend import graph_cache
from compiler.runtime import build
from compiler.runtime.cache import keep, kept

COUNTS = graph_cache.COUNTS
X = torch.linspace(-1, 1, 12).view(3, 4)


@pytest.fixture(autouse=True)
def directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def entry(path: Path) -> bytes:
    """Return a file's entry, its hash checked, written without references.

    The file's own bytes are not compared: pickle writes equal names once where they are
    one object, and that depends on what a process compiled before.
    """
    content = kept(path.name)
    assert content is not None
    written = io.BytesIO()
    pickler = pickle.Pickler(written)
    pickler.fast = True
    pickler.dump(graph_cache._read(content))
    return written.getvalue()


@contextmanager
def counted(**wanted: int) -> Iterator[None]:
    """Check how many graphs are found, stored and not kept in the block."""
    before = COUNTS.copy()
    yield
    assert dict(COUNTS - before) == wanted


def run(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Compile as a fresh process would, run, and compare with eager mode."""
    torch_api.reset()
    dynamic = options.pop("dynamic", None)
    compiled: Any = torch.compile(
        function, backend="tilewright", dynamic=dynamic, options=options
    )
    result = compiled(*args)
    torch.testing.assert_close(result, function(*args))
    return result


def f(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x * 3 + 1, -1).sum(0)


def test_it_is_found_again_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(stored=1):
        run(f, X)
    monkeypatch.setattr(build, "_compile", None)
    with counted(found=1):
        run(f, X)
    monkeypatch.setenv("CXX", "/nowhere/g++")
    with counted(found=1):
        run(f, X)


def test_forward_and_backward_are_found() -> None:
    def g(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x @ w).square()

    def gradients() -> list[torch.Tensor]:
        w = torch.linspace(-1, 1, 8).view(4, 2).requires_grad_()
        (gradient,) = torch.autograd.grad(run(g, X, w).sum(), w)
        w_eager = w.detach().clone().requires_grad_()
        (wanted,) = torch.autograd.grad(g(X, w_eager).sum(), w_eager)
        return [gradient, wanted]

    for wanted in ({"stored": 2}, {"found": 2}):
        with counted(**wanted):
            torch.testing.assert_close(*gradients())


def test_what_differs_is_another_graph() -> None:
    with counted(stored=1):
        run(f, X)
    with counted(stored=1):
        run(f, X, fast_math=False)
    with counted(stored=1):
        run(f, X.t().contiguous().t())
    with counted(stored=1):
        run(lambda x: torch.softmax(x * 4 + 1, -1).sum(0), X)


def test_a_constant_that_is_folded_is_in_the_key() -> None:
    def scaled(value: float) -> Callable[[torch.Tensor], torch.Tensor]:
        return lambda x: x * torch.tensor(value)

    for value in (2.0, 2.5, 0.0, -0.0, float("nan")):
        with counted(stored=1):
            torch_api.reset()
            result = torch.compile(scaled(value), backend="tilewright")(X)
        wanted = X * value
        torch.testing.assert_close(result, wanted, equal_nan=True, rtol=0, atol=0)
        assert torch.equal(result.signbit(), wanted.signbit()) or value != value


def test_a_constant_that_is_an_argument_is_not() -> None:
    def added(start: float) -> Callable[[torch.Tensor], torch.Tensor]:
        rows = [start, 2.0, 3.0, 4.0]
        return lambda x: x + torch.tensor(rows)

    with counted(stored=1):
        run(added(1.0), X)
    with counted(found=1):
        run(added(7.0), X)


def test_sizes_that_are_symbols() -> None:
    def g(x: torch.Tensor) -> torch.Tensor:
        return (x.softmax(-1) * x.shape[0]).sum(0)

    with counted(stored=1):
        run(g, X, dynamic=True)
    with counted(found=1):
        run(g, X, dynamic=True)
    compiled = torch.compile(g, backend="tilewright", dynamic=True)
    for shape in ((5, 8), (2, 33)):
        x = torch.randn(shape)
        torch.testing.assert_close(compiled(x), g(x))


def test_a_damaged_entry_is_compiled_again(directory: Path) -> None:
    run(f, X)
    (path,) = directory.glob("*.graph")
    whole, wanted = path.read_bytes(), entry(path)
    half = len(whole) // 2
    flipped = whole[:half] + bytes([whole[half] ^ 1]) + whole[half + 1 :]
    for damaged in (whole[:half], flipped, b""):
        path.write_bytes(damaged)
        with counted(stored=1):
            run(f, X)
        assert entry(path) == wanted
    keep(path.name, b"\x80\x05]\x94.")  # whole bytes that are no entry
    with counted(stored=1):
        run(f, X)
    assert entry(path) == wanted
    with counted(found=1):
        run(f, X)


def test_an_entry_names_no_foreign_code(directory: Path) -> None:
    run(f, X)
    (path,) = directory.glob("*.graph")
    for name in ("os\nsystem", "compiler.runtime.build\nsubprocess.run"):
        planted = f"c{name}\n(S'touch {directory}/planted'\ntR.".encode()
        keep(path.name, planted)
        with counted(stored=1):
            run(f, X)
    assert not (directory / "planted").exists()


@pytest.mark.parametrize("fate", ["gone", "cut"])
def test_without_its_library_it_is_compiled_again(fate: str, directory: Path) -> None:
    run(f, X)
    for library in directory.glob("*.so"):
        whole = library.read_bytes()
        library.unlink()
        if fate == "cut":
            library.write_bytes(whole[: len(whole) // 2])
    with counted(stored=1):
        run(f, X)


def test_another_compiler_compiles_again(monkeypatch: pytest.MonkeyPatch) -> None:
    run(f, X)
    monkeypatch.setattr(graph_cache, "compiler_identity", lambda: "a newer g++")
    with counted(stored=1):
        run(f, X)
    with counted(found=1):
        run(f, X)


def test_what_could_not_be_built_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nowhere/g++")
    with counted(**{"not kept": 1}), pytest.warns(FallbackWarning):
        run(f, X)
    monkeypatch.delenv("CXX")
    with counted(stored=1):
        run(f, X)


def test_certificates_travel_with_the_entry() -> None:
    def certificates() -> list[Any]:
        found: list[Any] = []
        plain = graph_cache.Place.find

        def finding(self: Any, name: str) -> Any:
            result = plain(self, name)
            found.extend([] if result is None else result[2])
            return result

        patch = pytest.MonkeyPatch()
        patch.setattr(graph_cache.Place, "find", finding)
        with patch.context():
            run(f, X, certify=True)
        patch.undo()
        return found

    with counted(stored=1):
        assert certificates() == []
    with counted(found=1):
        made = certificates()
    assert made and all(c.verdicts["in_bounds"].method for c in made[:1])
    with counted(stored=1):  # asked for none, it is another entry
        run(f, X)


def test_without_the_option_nothing_is_kept(directory: Path) -> None:
    for _ in range(2):
        with counted(**{"not kept": 1}):
            run(f, X, cache=False)
    assert not list(directory.glob("*.graph"))


def test_branches_are_taken_from_the_graph_that_runs() -> None:
    def branching(shift: float) -> Callable[[torch.Tensor], Any]:
        def chosen(x: torch.Tensor) -> Any:
            return torch.cond(
                x.sum() > 0, lambda x: x.sin() + shift, lambda x: x.cos(), (x,)
            )

        return chosen

    with counted(stored=1):
        run(branching(1.0), X + 2)
    with counted(found=1):
        run(branching(1.0), X + 2)
    with counted(stored=1):
        run(branching(2.0), X + 2)


def test_a_trace_shows_all_passes(tmp_path: Path) -> None:
    run(f, X)
    with counted(stored=1):
        run(f, X, trace=str(tmp_path / "trace"))
    assert list((tmp_path / "trace").glob("*/schedule.txt"))
