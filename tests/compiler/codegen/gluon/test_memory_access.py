import pytest

from algebra import LinearLayout
from compiler.codegen.gluon.assembly import Assembly
from compiler.codegen.gluon.memory_access import MemoryAccess
from compiler.convert import Load, Store, plan
from compiler.convert.hardware import hardware_of
from compiler.convert.lower import Packing


def lines(bits: int, silent: bool = False) -> list[str]:
    """Store and load a small tile."""
    warp = [0, 64] if silent else [64]
    dims = {"register": 2, "lane": 4, "warp": len(warp)}
    src = LinearLayout.from_columns(dims, {"dim0": 7}, [1, 2, 4, 8, 16, 32, *warp])
    dst = LinearLayout.from_columns(
        dims, {"dim0": 7}, [1, 64, 4, 8, 16, 32, *(w and 2 for w in warp)]
    )
    found = plan(src, dst, bits)
    made = Assembly()
    for step in found.steps:
        if isinstance(step, Store | Load):
            access = MemoryAccess(made, step, bits)
            count = Packing(bits).words(hardware_of(step.address))
            words = [f"r{index}" for index in range(count)]
            if isinstance(step, Store):
                access.store(words)
            else:
                access.load(words)
                assert "" not in words
    return made.lines


@pytest.mark.parametrize(
    ("bits", "store"), [(8, ".b8"), (16, ".b32"), (32, ".v2.b32"), (64, ".v4.b32")]
)
def test_widths(bits: int, store: str) -> None:
    text = "\n".join(lines(bits))
    assert f"st.shared{store} [" in text or bits == 8
    assert "ld.shared" in text


def test_silent_threads_do_not_store() -> None:
    stores = [line for line in lines(32, silent=True) if "st.shared" in line]
    assert stores and all(line.startswith("@p0 ") for line in stores)
