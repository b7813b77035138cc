from compiler.cost import cost, device


def test_costs_add_up() -> None:
    hopper = device("sm_90")
    assert cost({}, hopper) == 0
    both = cost({"shfl": 2, "wavefronts": 3}, hopper)
    assert both == 2 * hopper.cycles("shfl") + 3 * hopper.cycles("wavefronts")
