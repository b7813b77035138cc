from compiler.cost import cost, cycles, device


def test_costs_add_up() -> None:
    hopper = device("sm_90")
    assert cost({}, hopper) == 0
    both = cost({"shfl": 2, "wavefronts": 3}, hopper)
    assert both == 2 * hopper.cycles("shfl") + 3 * hopper.cycles("wavefronts")


def test_few_warps_wait_more_and_leave_partitions_idle() -> None:
    hopper = device("sm_90")
    counts, waits = {"shfl": 4, "selp": 8}, {"shfl": 1}
    assert cycles(counts, waits, hopper, 64) == cost(counts, hopper) + 24 / 64
    assert cycles(counts, waits, hopper, 4) == cost(counts, hopper) + 24 / 4
    assert cycles(counts, waits, hopper, 1) == 4 + 4 * 4 + 24
