import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.fx.experimental import symbolic_shapes

from compiler import torch_api
from compiler.ir.index import add, floordiv, index, maximum, mod, mul

aten = torch.ops.aten


def captured_sizes(shape: tuple[int, ...]) -> list[torch.SymInt]:
    """The symbolic sizes of a tensor, as a compiler of Dynamo's gets them."""
    found: list[torch.SymInt] = []

    def keep(graph: torch.fx.GraphModule, inputs: list[object]) -> object:
        found.extend(value for value in inputs if isinstance(value, torch.SymInt))
        return graph.forward

    torch_api.reset()
    torch.compile(lambda x: x + 1, backend=keep, dynamic=True)(torch.zeros(shape))
    return found


def test_sizes_become_index_expressions() -> None:
    a, b = captured_sizes((6, 4))
    s, t = torch_api.size_expression(a), torch_api.size_expression(b)
    assert s.op == t.op == "symbol" and s is not t
    assert torch_api.size_expression(a * 2 + b) is add(mul(s, 2), t)
    assert torch_api.size_expression(a // 2) is floordiv(s, 2)
    assert torch_api.size_expression(a % 4) is mod(s, 4)
    larger = torch_api.size_expression(torch.sym_max(a, b))
    assert larger in (maximum(s, t), maximum(t, s))
    assert torch_api.size_expression(a * a) is mul(s, s)
    assert torch_api.size_expression(7) is index(7)
    assert torch_api.size_hint(a) == 6 and torch_api.size_hint(3) == 3


def test_sizes_have_least_values() -> None:
    a, _ = captured_sizes((6, 4))
    least = torch_api.least_sizes([a])
    assert least == {torch_api.size_expression(a): 2}


def test_sizes_that_guards_exclude_are_told() -> None:
    found: list[bool] = []

    def keep(graph: torch.fx.GraphModule, inputs: list[object]) -> object:
        sizes = [one for one in inputs if isinstance(one, torch.SymInt)]
        a, b = (torch_api.symbolic_text(one) for one in sizes)
        for rows, columns in ((2, 2), (2, 3), (6, 4)):
            found.append(torch_api.contradicts_guards({a: rows, b: columns}))
        found.append(torch_api.contradicts_guards({a: 2}))
        return graph.forward

    torch_api.reset()
    torch.compile(lambda x: x.flatten()[:5] + 1, backend=keep, dynamic=True)(
        torch.zeros(6, 4)
    )
    assert found == [True, False, False, False]
    assert not torch_api.contradicts_guards({"s0": 2})


def test_overloads_have_names() -> None:
    assert torch_api.overload_name(aten.add.Tensor) == "aten.add.Tensor"
    assert torch_api.overload_of("aten.add.Tensor") is aten.add.Tensor
    with pytest.raises(AttributeError):
        torch_api.overload_of("aten.add.Nothing")


def test_schemas_say_what_is_returned_and_written() -> None:
    assert torch_api.returns_one_tensor(aten.mm.default) is True
    assert torch_api.returns_one_tensor(aten.split.Tensor) is False
    assert torch_api.returns_one_tensor(len) is None
    assert torch_api.written_arguments(aten.copy_.default) == ("self",)
    assert torch_api.written_arguments(aten.add.Tensor) == ()


def test_fast_allocation_has_the_strides_asked_for() -> None:
    made = torch_api.empty_strided_cpu((2, 3), (1, 2), torch.float32)
    assert made.shape == (2, 3) and made.stride() == (1, 2)
    view = torch_api.reinterpret_tensor(made, (3,), (2,), 1)
    assert view.data_ptr() == made.data_ptr() + 4
    with pytest.raises(AssertionError):
        torch_api.assert_size_stride(made, (2, 3), (3, 1))


def test_graphs_are_counted() -> None:
    torch_api.reset()
    torch_api.forget_counts()
    torch.compile(torch.sin, backend="eager")(torch.zeros(2))
    assert torch_api.captured_graphs() == 1


INTERNALS = re.compile(
    r"^\s*(from|import) torch(\.\w+)*\._\w|^\s*from torch(\.\w+)* import _\w"
    r"|^\s*from torch\.fx\.experimental|\btorch\._(?!pytree)\w+\."
)


def test_nobody_else_touches_the_internals(repository: Path) -> None:
    found = [
        f"{path.relative_to(repository)}:{number}"
        for package in ("compiler", "tilewright")
        for path in sorted((repository / package).rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if path.name != "torch_api.py" and INTERNALS.search(line)
    ]
    assert not found
    assert INTERNALS.search("from torch._dynamo import config")
    assert INTERNALS.search("    torch._dynamo.reset()")


def test_sizes_are_text_and_guards_are_counted() -> None:
    a, b = captured_sizes((6, 4))
    assert torch_api.symbolic_text(a * 2) == f"2*{torch_api.symbolic_text(a)}"
    assert torch_api.symbolic_text(3) == "3"
    before = torch_api.guard_count([a])
    assert torch_api.guard_count([b]) == before and torch_api.guard_count([3]) == 0
    assert a > b
    assert torch_api.guard_count([a]) > before


def test_operators_that_take_graphs_have_names() -> None:
    assert torch_api.higher_order_of("cond") is torch.ops.higher_order.cond
    with pytest.raises(AttributeError):
        torch_api.higher_order_of("no_such_operator")


def test_guards_go_untimed_and_still_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._dynamo import guards

    timing = getattr(guards, "profile_guard_manager", None)
    monkeypatch.setattr(guards, "profile_guard_manager", timing, raising=False)
    if not torch_api.forgo_guard_timing():
        pytest.skip("this torch does not time its guards")
    calls = []

    def backend(graph: Any, inputs: Any) -> Any:
        calls.append(graph)
        return graph

    compiled = torch.compile(lambda x: x + 1, backend=backend, dynamic=False)
    for size in (3, 3, 4):
        assert compiled(torch.ones(size)).shape == (size,)
    assert len(calls) == 2
    assert vars(guards)["profile_guard_manager"]() == 0.0


OTHER = ("test_torch_api.py", "frontend/test_graph_cache.py", "frontend/test_frozen.py")


@pytest.mark.slow
def test_another_release_of_pytorch(repository: Path, tmp_path: Path) -> None:
    """A sample of the tests passes in an environment with PyTorch 2.11."""
    python = repository.parent / ".oracle" / "torch-2.11" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"no {python}: python -m venv, then pip install torch==2.11.0")
    folder = repository / "tests" / "compiler"
    files = [str(folder / name) for name in OTHER]
    behaviours = repository / "tests" / "models" / "test_behaviours.py"
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *files, str(behaviours), "-k", "not another_release"],
        cwd=repository,
        env={
            **os.environ,
            "PYTHONPATH": str(repository),
            "TILEWRIGHT_CACHE": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"\b[1-9]\d* passed", done.stdout), done.stdout[-3000:]
    version = subprocess.run(
        [str(python), "-c", "import torch; print(torch.__version__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert version.stdout.startswith("2.11.")


def test_views_share_a_storage() -> None:
    x = torch.zeros(4)
    assert torch_api.storage_key(x) == torch_api.storage_key(x[1:])
    assert torch_api.storage_key(x) != torch_api.storage_key(x.clone())


def test_questions_that_data_would_answer_have_no_answer() -> None:
    unknown = symbolic_shapes.ShapeEnv().create_unbacked_symint()
    assert torch_api.guarded(lambda: bool(unknown < 7)) is None
    (size,) = captured_sizes((5,))
    assert torch_api.guarded(lambda: bool(size < 7)) is True
    assert torch_api.guarded(lambda: bool(size > 7)) is False
