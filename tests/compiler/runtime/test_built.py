from compiler.frontend.kernels import Evaluated
from compiler.ir.kernel import Kernel
from compiler.runtime.built import Built


def test_an_evaluated_kernel_is_a_built_one() -> None:
    built: Built = Evaluated(Kernel("nothing", (), (), (), {}))
    assert built.parameters == () and built.symbols == ()
    built()
