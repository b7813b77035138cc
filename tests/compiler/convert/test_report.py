from algebra import LinearLayout
from compiler.convert import plan

Pair = tuple[LinearLayout, LinearLayout, int]


def test_no_op(pairs: dict[str, Pair]) -> None:
    assert "no-op" in plan(*pairs["nothing"]).explain()


def test_shuffles(pairs: dict[str, Pair]) -> None:
    text = plan(*pairs["fp8 P to A"]).explain()
    assert "  2. shuffle: register bit" in text
    assert "(4 elements a word)" in text
    assert "8 shfl" in text and "dearer: store" in text


def test_memory(pairs: dict[str, Pair]) -> None:
    text = plan(*pairs["repetitions"]).explain()
    assert "2 repetitions of store, barrier, load" in text
    assert "shared memory: 32768 bytes" in text
    assert "bank conflicts: 0 storing, 0 loading" in text
    assert "(certified)" in text


def test_registers_and_copies(pairs: dict[str, Pair]) -> None:
    assert "rename registers: register bit 0 <-" in plan(*pairs["registers"]).explain()
    assert "8 -> 4" in plan(*pairs["copies"]).explain()
