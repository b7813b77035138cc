"""The package needs no GPU but is large: only the questions are tested without it."""

from verify.libraries.cute_dsl import CUTE_DSL
from verify.libraries.operation import UndefinedError


def test_each_question_has_an_answer() -> None:
    answered = dict.fromkeys((one.name for one in CUTE_DSL.operations), 0)
    for number in range(1000):
        operation, arguments = CUTE_DSL.draw(1, number)
        compile(operation.source, operation.name, "exec")
        try:
            operation.expected(*arguments)
        except UndefinedError:
            continue
        answered[operation.name] += 1
    assert min(answered.values()) > 10
