"""Both sides of each theorem of ``layout.v``, on random instances."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algebra import AffineLayout, LinearLayout, gauss
from algebra.why_not_linear import why_not_linear
from verify.strategies import matrices
from verify.strategies.flat import flat_layouts

LAW = settings(max_examples=30)
BITS = st.integers(0, 4)


@st.composite
def chains(draw: st.DrawFn, length: int) -> list[LinearLayout]:
    """Layouts each of which runs after the one before it."""
    bits = [draw(BITS) for _ in range(length + 1)]
    return [
        draw(
            flat_layouts(bits[i], bits[i + 1], in_dim=f"dim{i}", out_dim=f"dim{i + 1}")
        )
        for i in range(length)
    ]


def images(layout: LinearLayout) -> list[int]:
    return [layout.apply_index(i) for i in range(layout.get_total_in_dim_size())]


@st.composite
def any_layouts(draw: st.DrawFn) -> LinearLayout:
    return draw(flat_layouts(draw(BITS), draw(BITS)))


@LAW
@given(chains(2))
def test_compose_is_matrix_product(chain: list[LinearLayout]) -> None:
    a, b = chain
    both = a.compose(b)
    assert list(both.columns) == gauss.matmul(b.columns, a.columns)
    assert images(both) == [b.apply_index(w) for w in images(a)]


@LAW
@given(chains(3))
def test_compose_is_associative(chain: list[LinearLayout]) -> None:
    a, b, c = chain
    assert a.compose(b.compose(c)) == a.compose(b).compose(c)


@LAW
@given(any_layouts())
def test_identity_is_neutral_for_compose(a: LinearLayout) -> None:
    before = LinearLayout.identity_1d(a.get_in_dim_size("x"), "x", "x")
    after = LinearLayout.identity_1d(a.get_out_dim_size("y"), "y", "y")
    assert before.compose(a) == a == a.compose(after)


@LAW
@given(any_layouts(), st.data())
def test_layouts_equal_on_a_basis_are_equal(
    a: LinearLayout, data: st.DataObject
) -> None:
    inputs = data.draw(matrices(len(a.columns)))
    targets = [a.apply_index(v) for v in inputs]
    back = gauss.inverse(inputs)
    assert back is not None
    b = LinearLayout.from_columns(
        {"x": len(inputs)},
        {"y": a.get_out_dim_size_log2("y")},
        gauss.matmul(targets, back),
    )
    assert [b.apply_index(v) for v in inputs] == targets
    assert a == b and hash(a) == hash(b)


@LAW
@given(any_layouts())
def test_additive_map_is_a_layout(a: LinearLayout) -> None:
    found = why_not_linear(images(a), len(a.columns))
    assert isinstance(found, AffineLayout)
    assert found.packed_offset == 0
    assert found.linear.columns == a.columns


@LAW
@given(any_layouts())
def test_surjective_iff_every_output_is_reached(a: LinearLayout) -> None:
    reached = len(set(images(a))) == a.get_total_out_dim_size()
    assert a.is_surjective == reached


@LAW
@given(any_layouts())
def test_injective_iff_no_two_inputs_share_an_output(a: LinearLayout) -> None:
    assert a.is_injective == (len(set(images(a))) == len(images(a)))


@LAW
@given(any_layouts())
def test_invertible_iff_square_and_surjective(a: LinearLayout) -> None:
    outputs = a.get_total_out_dim_size()
    bijective = sorted(images(a)) == list(range(outputs))
    square = a.get_total_in_dim_size() == outputs
    assert a.is_invertible == bijective == (square and a.is_surjective)


@pytest.mark.parametrize("kind", ["is_surjective", "is_injective"])
@LAW
@given(bits=st.tuples(BITS, BITS, BITS), data=st.data())
def test_compose_keeps_surjective_and_injective(
    bits: tuple[int, int, int], kind: str, data: st.DataObject
) -> None:
    m, n, p = sorted(bits, reverse=kind == "is_surjective")
    ranks = (n, p) if kind == "is_surjective" else (m, n)
    a = data.draw(flat_layouts(m, n, rank=ranks[0], in_dim="x", out_dim="y"))
    b = data.draw(flat_layouts(n, p, rank=ranks[1], in_dim="y", out_dim="z"))
    assert getattr(a, kind) and getattr(b, kind) and getattr(a.compose(b), kind)
