from verify.legacy.placement import Placement, WarpGrid, warps_of


def test_placements() -> None:
    placed = warps_of([2, 4])
    assert placed.extent(0) == 2 and placed.extent(1) == 4
    assert placed.without(1).warp == ((0, 0), (0, 0), (1, 0))
    assert Placement(((0, 1),), ()).without(1).register == ()
    assert warps_of([1, 1]) == Placement()


def test_a_grid_is_a_placement() -> None:
    for warps in ((1, 1), (2, 1), (2, 4), (1, 2, 2)):
        grid, placed = WarpGrid(warps), warps_of(warps)
        rank = len(warps)
        assert grid.warps == placed.warps and grid.digits == placed.digits == ()
        for dim in range(rank):
            assert grid.extent(dim) == placed.extent(dim)
        for cut in range(rank):
            for warp in range(placed.warps):
                assert grid.without(cut).tiles([], warp, rank) == placed.without(
                    cut
                ).tiles([], warp, rank)


def test_vectors_of_registers_and_warps() -> None:
    placed = Placement(((0, 1),), ((1, 2), (2, 0)))
    assert [digit.size for digit in placed.digits] == [2]
    assert placed.tiles([1], 3, 2) == [3, 3]
    assert placed.extent(0) == 4 and placed.extent(1) == 4
