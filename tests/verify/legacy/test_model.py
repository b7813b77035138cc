from verify.legacy.model import Digit, DistributedModel, SharedModel


def test_a_register_number_is_split_into_loop_counters() -> None:
    model = DistributedModel(
        shape=(8, 4),
        digits=(Digit(1, 4), Digit(0, 2)),
        lanes=4,
        warps=1,
        locate=lambda counters, lane, warp: [counters[1] + lane * 2, counters[0]],
        source="",
    )
    assert model.registers == 8
    assert [model.position(register, 3, 0) for register in (0, 3, 4)] == [
        [6, 0],
        [6, 3],
        [7, 0],
    ]
    assert model.names == ("register", "lane", "warp")


def test_a_shared_model_has_no_note_unless_told() -> None:
    model = SharedModel(shape=(4,), offset=lambda c: c[0], source="")
    assert model.note == "" and model.spare == () and model.offset([3]) == 3
