import numpy as np

from verify.ttir.run import GuardedMemory


def memory() -> GuardedMemory:
    return GuardedMemory({"b": 4}, lambda buffer, offsets: np.asarray(offsets) * 10)


def test_accesses_outside_are_events_and_touch_nothing() -> None:
    one = memory()
    offsets = np.array([3, 4, -1])
    live = np.array([True, True, False])
    inside = one.check("store", "b", offsets, live, 7)
    assert inside.tolist() == [True, False, False]
    (event,) = one.events
    assert (event.kind, event.offset, event.lane, event.line) == (
        "out_of_bounds",
        4,
        (1,),
        7,
    )
    assert one.stores == {"b": {3, 4}}
    one.next_program()
    assert one.stores == {}


def test_what_is_written_is_read_back() -> None:
    one = memory()
    offsets = np.array([1, 2])
    one.write("b", offsets, np.array([5, 6]), np.array([True, False]))
    assert one.read("b", offsets).tolist() == [5, 20]


def test_a_store_of_two_lanes_to_one_place_is_noted() -> None:
    one = memory()
    one.check("store", "b", np.array([1, 1]), np.array([True, True]), 3)
    assert one.repeated == [("b", 1, 3)]
    one.poisoned("store", "b", np.array([1]), np.array([True]), 3)
    assert one.events[-1].kind == "poison"
