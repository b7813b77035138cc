from collections.abc import Sequence

from algebra.verdict import Proved
from compiler.frontend.validator import Certificate, Emitted, Validator
from compiler.ir.kernel import Kernel, Schedule
from compiler.ir.node import Program


class Proves:
    def scheduled(
        self, schedule: Schedule, program: Program | None
    ) -> Sequence[Certificate]:
        kernels = [step for step in schedule.steps if isinstance(step, Kernel)]
        return [Certificate(k.name, {"in_bounds": Proved()}) for k in kernels]

    def emitted(
        self, kernels: Sequence[Emitted], schedule: Schedule
    ) -> Sequence[Certificate]:
        return [Certificate(e.kernel.name, {"ttir": Proved()}) for e in kernels]


def test_any_object_with_two_methods_can_be_a_validator() -> None:
    validator: Validator = Proves()
    schedule = Schedule((), (Kernel("k", (), (), (), {}),), ())
    (found,) = validator.scheduled(schedule, None)
    assert found.kernel == "k" and found.seconds == 0
    assert not validator.emitted((), schedule)
