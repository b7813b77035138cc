from hypothesis import find, given

from algebra import Proved
from compiler.convert import plan
from verify.strategies import ConversionCase, conversions


@given(conversions())
def test_every_draw_can_be_planned(case: ConversionCase) -> None:
    assert case.src.linear.is_surjective and case.dst.linear.is_surjective
    found = plan(case.src, case.dst, case.element_bits)
    assert isinstance(found.prove(), Proved)
    assert bool((found.simulate() == found.expected()).all())


def test_shrinks_to_a_conversion_that_does_nothing() -> None:
    least = find(conversions(), lambda case: True)
    assert plan(least.src, least.dst, least.element_bits).steps == ()
    assert least.src.in_dims["warp"] == 1


def test_shrinks_to_one_shuffle() -> None:
    def shuffles(case: ConversionCase) -> bool:
        return plan(case.src, case.dst, case.element_bits).counts.get("shfl", 0) > 0

    least = find(conversions(), shuffles)
    assert plan(least.src, least.dst, least.element_bits).counts["shfl"] <= 2
