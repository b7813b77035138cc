from typing import Any

from compiler.frontend.kernels import Evaluated
from compiler.ir.expression import Expression
from compiler.ir.kernel import Kernel
from compiler.runtime.built import Built, Shared


def test_an_evaluated_kernel_is_a_built_one() -> None:
    built: Built = Evaluated(Kernel("nothing", (), (), (), {}))
    assert built.parameters == () and built.symbols == ()
    built()


def test_shared_kernels_take_arrays_of_other_names() -> None:
    calls: list[tuple[Any, ...]] = []

    class One:
        parameters: tuple[str, ...] = ("a", "b")
        symbols: tuple[Expression, ...] = ()
        source: str = "text"

        def __call__(self, *arguments: Any) -> None:
            calls.append(arguments)

    shared = Shared(One(), {"a": "x", "b": "y"})
    assert shared.parameters == ("x", "y") and shared.entry is None
    assert shared.source == "text" and shared.symbols == ()
    shared(1, 2)
    assert calls == [(1, 2)]
