from algebra import LinearLayout, Proved
from compiler.convert import Shuffle, Store, plan
from compiler.convert.exchange_plan import exchange_plans
from compiler.convert.hardware import distributed
from compiler.convert.prove import prove
from compiler.cost import device

Pair = tuple[LinearLayout, LinearLayout, int]


def test_bytes_are_transposed_with_wider_stores(pairs: dict[str, Pair]) -> None:
    """Upstream stores 32 bytes one by one; half as many stores do."""
    found = plan(*pairs["bytes transposed"])
    assert any(isinstance(step, Shuffle) for step in found.steps)
    assert found.counts["st.shared"] <= 16 and found.counts["ld.shared"] == 2
    direct = dict(found.rejected)["store, barrier, load"]
    assert found.cost < direct


def test_every_candidate_is_right(pairs: dict[str, Pair]) -> None:
    src, dst, bits = pairs["bytes transposed"]
    here, there = distributed(src, "src"), distributed(dst, "dst")
    found = list(exchange_plans(here, there, bits, device("sm_90"), 1 << 15))
    assert len(found) == 4
    for one in found:
        assert isinstance(prove(here, one.steps, there, bits), Proved)
        kinds = [type(step) for step in one.steps]
        assert Shuffle in kinds and Store in kinds


def test_words_need_no_exchange(pairs: dict[str, Pair]) -> None:
    src, dst, _ = pairs["bytes transposed"]
    sides = distributed(src, "src"), distributed(dst, "dst")
    assert not list(exchange_plans(*sides, 32, device("sm_90"), 1 << 15))
