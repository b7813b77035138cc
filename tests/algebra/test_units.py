from algebra.units import LOG2, SMALL, UNIT_SETS, UNITS, images_of_units


def test_tables_hold_the_powers_of_two() -> None:
    assert all(unit == 2**i for i, unit in enumerate(UNITS))
    assert all(LOG2[unit] == i for i, unit in enumerate(UNITS))
    assert UNIT_SETS[3] == {1, 2, 4}
    assert SMALL[0] == {0}
    assert SMALL[2] == {0, 1, 2}
    assert SMALL[4000] >= set(UNITS)


def test_images_start_with_zero() -> None:
    assert images_of_units([5, 6]) == {0: 0, 1: 5, 2: 6}
    assert images_of_units([]) == {0: 0}
