import pytest

from verify.libraries.answer import function, judge, same
from verify.libraries.operation import Operation


@pytest.mark.parametrize(
    ("arguments", "status"),
    [((1, 2), "ok"), ((50, 3), "mismatch"), ((99, 0), "error"), ((-1, 0), "undefined")],
    ids=["right", "wrong", "raises", "outside"],
)
def test_each_outcome_has_its_status(
    add: Operation, arguments: tuple[int, int], status: str
) -> None:
    assert judge(add, arguments)["status"] == status


def test_what_is_no_argument_is_malformed(add: Operation) -> None:
    assert judge(add, ("x", 1))["status"] == "malformed"


def test_a_refusal_is_no_error(add: Operation) -> None:
    strict = Operation("add", add.source, add.draw, add.expected, "", ("KeyError",))
    assert judge(strict, (99, 0))["status"] == "refused"


def test_values_are_compared_bit_for_bit() -> None:
    nan = float("nan")
    assert same([1, nan, "a"], [1, nan, "a"])
    assert not same([0.0], [-0.0])
    assert not same(1, True)
    assert not same([1, 2], [1])
    assert not same(nan, 1.0)


def test_a_kernel_is_read_from_a_file() -> None:
    source = '"""@triton.jit"""\nimport inspect\n\n\ndef run():\n    return __file__\n'
    path = function(source)()
    assert path.endswith(".py")
