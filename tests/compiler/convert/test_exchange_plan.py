from algebra import LinearLayout, Proved
from compiler.convert import Load, Shuffle, Store, plan
from compiler.convert.exchange_plan import exchange_plans
from compiler.convert.hardware import distributed
from compiler.convert.prove import prove
from compiler.cost import device

Pair = tuple[LinearLayout, LinearLayout, int]


def test_bytes_are_transposed_by_matrix_instructions(pairs: dict[str, Pair]) -> None:
    """Upstream stores 32 bytes one by one; after a shuffle two matrix stores do."""
    found = plan(*pairs["bytes transposed"])
    assert any(isinstance(step, Shuffle) for step in found.steps)
    assert found.counts["wavefronts"] == 16
    assert found.counts.get("stmatrix", 0) + found.counts.get("ldmatrix", 0) == 2
    direct = dict(found.rejected)["store, barrier, load"]
    assert found.cost < direct


def test_every_candidate_is_right(pairs: dict[str, Pair]) -> None:
    src, dst, bits = pairs["bytes transposed"]
    here, there = distributed(src, "src"), distributed(dst, "dst")
    found = list(exchange_plans(here, there, bits, device("sm_90"), 1 << 15))
    assert len(found) > 4
    for one in found:
        assert isinstance(prove(here, one.steps, there, bits), Proved)
        kinds = [type(step) for step in one.steps]
        assert Shuffle in kinds and Store in kinds


def test_bytes_that_share_no_register_are_exchanged_for_matrices(
    pairs: dict[str, Pair],
) -> None:
    src, dst, bits = pairs["bytes transposed"]
    here, there = distributed(src, "src"), distributed(dst, "dst")
    device_80 = device("sm_80")  # which cannot store matrices
    found = list(exchange_plans(here, there, bits, device_80, 1 << 15))
    loads = [s for one in found for s in one.steps if isinstance(s, Load)]
    assert any(s.instruction.name == "ldmatrix.trans" for s in loads)
    assert not any(
        s.instruction.is_matrix
        for one in found
        for s in one.steps
        if isinstance(s, Store)
    )


def test_words_need_no_exchange(pairs: dict[str, Pair]) -> None:
    src, dst, _ = pairs["bytes transposed"]
    sides = distributed(src, "src"), distributed(dst, "dst")
    assert not list(exchange_plans(*sides, 32, device("sm_90"), 1 << 15))
