from collections.abc import Mapping, Sequence

from algebra.verdict import Proved
from compiler.frontend.validator import Certificate, Validator
from compiler.ir.expression import Expression
from compiler.ir.kernel import Kernel


def test_a_function_can_be_a_validator() -> None:
    def proves(
        kernels: Sequence[Kernel], least: Mapping[Expression, int]
    ) -> Sequence[Certificate]:
        return [Certificate(k.name, {"in_bounds": Proved()}) for k in kernels]

    validator: Validator = proves
    (found,) = validator([Kernel("k", (), (), (), {})], {})
    assert found.kernel == "k" and found.seconds == 0
