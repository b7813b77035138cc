import numpy as np
import pytest

from verify.legacy.arithmetic import ceil_div, delinearize, product, smaller
from verify.terms import Size, Term, evaluate, variable

SIZES = [1, 2, 4, 8]


@pytest.mark.parametrize("a", SIZES)
@pytest.mark.parametrize("b", SIZES)
def test_sizes_are_ints_or_symbols(a: int, b: int) -> None:
    left, right = Size(variable("a", 3)), Size(variable("b", 3))
    values = {"a": a.bit_length() - 1, "b": b.bit_length() - 1}

    def value(size: Size) -> int:
        return evaluate(size.value(), values)

    assert value(ceil_div(left, right)) == ceil_div(a, b) == max(1, a // b)
    assert value(ceil_div(left, b)) == ceil_div(a, b)
    assert value(smaller(left, right)) == smaller(a, b) == min(a, b)
    assert value(product([left, right, 2])) == product([a, b, 2])


def test_delinearize_on_ints_arrays_and_terms() -> None:
    sizes, order = [4, 2, 8], [2, 0, 1]
    everything = np.arange(64)
    arrays = delinearize(everything, sizes, order)
    index = variable("index", 6)
    terms = delinearize(index, sizes, order)
    for n in range(64):
        ints = delinearize(n, sizes, order)
        assert ints[2] + 8 * (ints[0] + 4 * ints[1]) == n
        assert [int(array[n]) for array in arrays] == ints
        assert [evaluate(t, {"index": n}) for t in terms] == ints
        assert all(isinstance(t, Term) for t in terms)


def test_delinearize_of_no_and_of_one_dim() -> None:
    assert delinearize(0, [], []) == []
    assert delinearize(9, [4], [0]) == [9]
    assert product([]) == 1
