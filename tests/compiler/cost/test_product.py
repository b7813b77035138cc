from compiler.cost.product import LIBRARY, MULTIPLY_ADDS, product_cost


def test_cost_is_work_over_rate() -> None:
    one = product_cost((64, 64, 64), 16, "wgmma", 4)
    assert product_cost((128, 64, 64), 16, "wgmma", 4) == 2 * one
    assert product_cost((64, 64, 64), 8, "wgmma", 4) == one / 2
    assert product_cost((64, 64, 64), 16, "wgmma", 8) == one / 2


def test_wgmma_is_the_faster_one() -> None:
    assert MULTIPLY_ADDS["wgmma"].cycles > MULTIPLY_ADDS["mma"].cycles


def test_aligned_rows_are_never_slower() -> None:
    work = 2 * 1024**3
    taken = [LIBRARY.seconds(work, alignment) for alignment in (2, 4, 8, 16)]
    assert taken == sorted(taken, reverse=True) and taken[0] > taken[-1]
    assert LIBRARY.seconds(2 * work, 16) == 2 * taken[-1]
    assert LIBRARY.copying(2 * work) == 2 * LIBRARY.copying(work)
