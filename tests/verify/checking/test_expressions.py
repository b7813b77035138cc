import pytest

from algebra.errors import ArgumentError
from verify.checking.expressions import ceil_div, parse_expression
from verify.symbolic.terms import constant, symbol
from verify.symbolic.walk import value_at

M, N = symbol("M"), symbol("N")
NAMES = {"M": M, "N": N, "BLOCK": constant(64)}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("M*N", 35),
        ("cdiv(M, BLOCK)", 1),
        ("triton.cdiv(N, 2)", 4),
        ("-M // 2", -3),
        ("N % 4", 3),
        ("2**5 + (M << 2)", 52),
        ("min(M, N, 6)", 5),
        ("max(M, N)", 7),
        ("abs(M - N)", 2),
        ("M < N <= 7", True),
        ("M == 5 and not N == 5", True),
        ("M > 9 or M >= 5", True),
        ("M != 5", False),
        (12, 12),
    ],
)
def test_expressions_mean_what_python_means(text: object, value: int | bool) -> None:
    assert value_at(parse_expression(text, NAMES), {M: 5, N: 7}) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("K*2", "'K' is not known"),
        ("M / 2", "write // for a quotient"),
        ("M +", "invalid syntax"),
        ("f(M)", "no meaning here"),
        ("M ** N", "small number"),
        ("M & N", "no meaning here"),
        ("M in N", "no meaning here"),
        ("(M < N) + 1", "no integer"),
        ("M and N", "no condition"),
        ("[M]", "no meaning here"),
        (1.5, "needed an int"),
        (True, "needed an int"),
    ],
)
def test_others_are_errors_that_say_why(text: object, said: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        parse_expression(text, NAMES)
    assert said in str(caught.value)


def test_quotients_rounded_up() -> None:
    assert value_at(ceil_div(M, constant(4)), {M: 9}) == 3
