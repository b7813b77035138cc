from collections.abc import Callable

from verify.checking.radix import candidates, digits_of
from verify.checking.setting import Setting
from verify.symbolic.polynomial import polynomial
from verify.symbolic.terms import ZERO, add, at_most, conjoin, less, mul, symbol

N = symbol("n", 0, 2**31 - 1)
ROW, COLUMN = symbol("row", 0), symbol("column", 0)
OFFSET = add(mul(ROW, N), COLUMN)


def test_strides_are_read_off(settings: Callable[..., Setting], copy_text: str) -> None:
    one = settings(copy_text)
    reach = conjoin(at_most(ZERO, COLUMN), less(COLUMN, N))
    found = digits_of(one, OFFSET, (reach,), frozenset({N}))
    assert found is not None
    assert found.digits == (ROW, COLUMN) and found.strides == (N,)
    assert digits_of(one, OFFSET, (), frozenset({N})) is None


def test_an_address_without_a_stride_is_one_digit(
    settings: Callable[..., Setting], copy_text: str
) -> None:
    found = digits_of(settings(copy_text), COLUMN, (), frozenset({N}))
    assert found is not None and found.digits == (COLUMN,) and found.strides == ()
    assert candidates(polynomial(OFFSET), frozenset({N})) == [N]
