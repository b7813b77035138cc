from compiler.cost.product import MULTIPLY_ADDS, product_cost


def test_cost_is_work_over_rate() -> None:
    one = product_cost((64, 64, 64), 16, "wgmma", 4)
    assert product_cost((128, 64, 64), 16, "wgmma", 4) == 2 * one
    assert product_cost((64, 64, 64), 8, "wgmma", 4) == one / 2
    assert product_cost((64, 64, 64), 16, "wgmma", 8) == one / 2


def test_wgmma_is_the_faster_one() -> None:
    assert MULTIPLY_ADDS["wgmma"].cycles > MULTIPLY_ADDS["mma"].cycles
