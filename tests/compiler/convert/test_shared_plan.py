import random

from algebra import LinearLayout, Proved
from compiler.convert import Barrier, Load, Store, plan, plans
from compiler.convert.hardware import distributed
from compiler.convert.shared_plan import shared_plans
from compiler.cost import device

Pair = tuple[LinearLayout, LinearLayout, int]


def names(pair: Pair, target: str) -> set[tuple[str, str]]:
    src, dst, bits = pair
    found = shared_plans(
        distributed(src, "src"), distributed(dst, "dst"), bits, device(target), 1 << 15
    )
    result = set()
    for one in found:
        store, load = (
            next(step for step in one.steps if isinstance(step, kind))
            for kind in (Store, Load)
        )
        assert isinstance(store, Store) and isinstance(load, Load)
        result.add((store.instruction.name, load.instruction.name))
    return result


def test_matrix_instructions_where_the_target_has_them(pairs: dict[str, Pair]) -> None:
    assert ("stmatrix", "ld.shared") in names(pairs["matrices"], "sm_90")
    assert all(store == "st.shared" for store, _ in names(pairs["matrices"], "sm_80"))
    assert names(pairs["matrices"], "gfx942") == {("st.shared", "ld.shared")}


def test_certificates_hold(pairs: dict[str, Pair]) -> None:
    found = plan(*pairs["matrices"])
    assert found.swizzling is not None
    assert found.swizzling.conflicts == (0, 0)
    assert isinstance(found.swizzling.certificate.check(), Proved)


def test_vectors_in_common(pairs: dict[str, Pair]) -> None:
    found = 0
    for seed in range(40):
        rng = random.Random(seed)
        names = {"register": rng.randint(1, 3), "lane": 5, "warp": 1}
        bits = sum(names.values())
        columns = [1 << bit for bit in range(bits)]
        src, dst = (
            LinearLayout.from_columns(names, {"dim0": bits}, order)
            for order in (rng.sample(columns, bits), rng.sample(columns, bits))
        )
        size = rng.choice([8, 16, 32])
        for one in plans(src, dst, size, family="even"):
            found += 1
            assert isinstance(one.prove(), Proved)
            assert (one.simulate() == one.expected()).all()
            assert one.swizzling is not None
            assert one.swizzling.conflicts == (0, 0)
            facts = one.swizzling.certificate.accesses
            assert facts[0].elements == facts[1].elements
    assert found
    # both sides take the same vectors anyway
    assert not plans(*pairs["bytes of one word"], family="even")
    assert not plans(*pairs["nothing"], family="even")


def test_a_warp_alone_waits_for_itself_only() -> None:
    src = LinearLayout.from_columns(
        {"register": 5, "lane": 5}, {"dim0": 10}, [1 << i for i in range(10)]
    )
    dst = src.reshape_ins({"lane": 32, "register": 32})
    found = plan(src, dst.transpose_ins(["register", "lane"]), 32)
    barriers = [step.scope for step in found.steps if isinstance(step, Barrier)]
    assert barriers == ["warp"]


def test_copies_are_silent() -> None:
    lanes = {"register": 1, "lane": 5, "warp": 2}
    columns = [1, 2, 4, 8, 16, 32, 0, 64]
    src = LinearLayout.from_columns(lanes, {"dim0": 7}, columns)
    dst = LinearLayout.from_columns(lanes, {"dim0": 7}, [64, 2, 4, 8, 16, 32, 0, 1])
    store = plan(src, dst, 32).steps[0]
    assert isinstance(store, Store)
    assert store.silent == 1 << 6


def test_blocks_that_tell_repetitions_apart() -> None:
    rows = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]]
    columns = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]]
    src = LinearLayout.from_bases(
        {
            "register": [*columns[3:], *rows],
            "lane": [[0, 0], [0, 0], *columns[:3]],
            "block": [[0, 0], [0, 0]],
        },
        ["dim0", "dim1"],
    )
    dst = LinearLayout.from_bases(
        {
            "register": [columns[0], *columns[3:]],
            "lane": [*columns[1:3], *rows[:3]],
            "block": rows[3:],
        },
        ["dim0", "dim1"],
    )
    for limit in (0, 256, 512):
        found = plans(src, dst, 8, shared_bytes=limit)
        assert any(one.shared_bytes for one in found)
        for one in found:
            assert isinstance(one.prove(), Proved)
            assert (one.simulate() == one.expected()).all()
