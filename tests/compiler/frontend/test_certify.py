"""What happens to what a validator refutes, and which texts it gets to see."""

from collections.abc import Sequence
from typing import Any

import pytest

from algebra.verdict import Proved, Refuted, Unknown, Verdict
from compiler.codegen.triton import build
from compiler.errors import CompileError, FallbackWarning
from compiler.frontend.certify import certified, certified_texts, emitted_of
from compiler.frontend.kernels import Evaluated
from compiler.frontend.validator import MEMORY, Certificate, Emitted
from compiler.ir.expression import make
from compiler.ir.index import digit, index
from compiler.ir.kernel import Kernel, Schedule, Store
from compiler.ir.node import Axis, Buffer, Program
from compiler.options import Options
from compiler.runtime.built import Built, Shared

ROW = digit("i")


def copy(name: str, source: str, target: str) -> Kernel:
    value = make("load", (ROW,), "float32", source)
    arrays = {
        array: Buffer(array, "float32", (index(100),), "cuda:0", (index(1),))
        for array in (source, target)
    }
    store = Store(target, (ROW,), value, False)
    return Kernel(name, (Axis(ROW, index(100)),), (), (store,), arrays, ("m.py:3",))


ONE, TWO = copy("copy_0", "x", "y"), copy("copy_1", "y", "z")
SCHEDULE = Schedule((ONE.buffers["x"],), (ONE, TWO), ("z",))


class Says:
    def __init__(self, plan: Verdict, *texts: Verdict) -> None:
        self.plan, self.texts = plan, texts

    def scheduled(
        self, schedule: Schedule, program: Program | None
    ) -> Sequence[Certificate]:
        return [Certificate(MEMORY, {"memory_plan": self.plan})]

    def emitted(
        self, kernels: Sequence[Emitted], schedule: Schedule
    ) -> Sequence[Certificate]:
        return [
            Certificate(one.kernel.name, {"ttir_in_bounds": said}, 1.0)
            for one, said in zip(kernels, self.texts, strict=True)
        ]


def built() -> dict[str, Built]:
    first = build([ONE], Options())["copy_0"]
    return {"copy_0": first, "copy_1": Shared(first, {"x": "y", "y": "z"})}


def test_a_text_names_the_arrays_of_the_kernel_that_it_runs_for() -> None:
    (text,) = emitted_of(TWO, built()["copy_1"])
    assert text.parameters == ("y", "z") and text.types == ("*fp32", "*fp32")
    assert "tt.store" in text.text and len(text.arguments) == 2
    assert not list(emitted_of(ONE, Evaluated(ONE)))
    several: Any = build([ONE], Options())["copy_0"]
    several.unaligned = build([ONE], Options())["copy_0"]
    assert len(list(emitted_of(ONE, several))) == 2


def test_a_refuted_text_is_evaluated_and_the_user_is_told() -> None:
    kernels = built()
    judge = Says(Proved(), Unknown("too hard"), Refuted("x[100]"))
    before = [Certificate("copy_0", {"in_bounds": Proved()})]
    with pytest.warns(FallbackWarning, match=r"copy_1 \(from m.py:3\).*x\[100\]"):
        one = certified_texts(SCHEDULE, kernels, before, judge, Options())
    assert [type(v) for v in one[0].verdicts.values()] == [Proved, Unknown]
    assert not isinstance(kernels["copy_0"], Evaluated)
    assert isinstance(kernels["copy_1"], Evaluated)
    with (
        pytest.raises(CompileError, match="copy_1"),
        pytest.warns(FallbackWarning),
    ):
        options = Options(fallback=False)
        certified_texts(SCHEDULE, built(), before, judge, options)


def test_a_refuted_plan_is_an_error() -> None:
    with pytest.raises(CompileError, match="memory_plan is refuted by y is dead"):
        certified(SCHEDULE, None, Says(Refuted("y is dead")))
    found, names = certified(SCHEDULE, None, Says(Unknown("too hard")))
    assert len(found) == 1 and not names
