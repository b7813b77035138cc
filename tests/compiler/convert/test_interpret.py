import numpy as np
import pytest

from compiler.convert import plan
from compiler.convert.hardware import Hardware, hardware_of
from compiler.convert.interpret import EMPTY, execute, pack, parities, unpack
from compiler.convert.lower import lower
from compiler.convert.plan import Plan
from compiler.convert.simulate import run
from compiler.convert.words import Functional
from compiler.convert.work import runs_within_warp
from verify.oracle.random_conversions import random_pairs


def agrees(found: Plan) -> bool:
    """Compare the lowered program with the steps that it comes from."""
    runs = runs_within_warp(found.steps)
    if len(runs) != 1 or found.shared_bytes:
        return False
    (core,) = runs
    first = found.steps.index(core[0])
    old = Hardware(*core[0].source.linear.out_bits)
    new = hardware_of(core[-1].source)
    before = run(found.src, found.steps[:first]).reshape(-1)
    after = run(found.src, found.steps[: first + len(core)]).reshape(-1)
    bits = found.element_bits
    words = execute(lower(core, bits), pack(before, old, bits))
    assert np.array_equal(unpack(words, new, bits), after), found
    return True


def test_programs_do_what_the_steps_do() -> None:
    found = 0
    for pair in random_pairs(7, 150):
        found += agrees(plan(pair.src, pair.dst, pair.element_bits))
    assert found > 15


@pytest.mark.parametrize("bits", [8, 16, 32, 64, 128])
def test_unpack_undoes_pack(bits: int) -> None:
    here = Hardware(1, 2, 0, 0)
    file = np.arange(8)
    words = pack(file, here, bits)
    assert np.array_equal(unpack(words, here, bits), file)
    assert (words == EMPTY).any() == (bits == 8)
    broken = words.copy()
    broken[..., 0] = EMPTY
    assert (unpack(broken, here, bits) == EMPTY).any()


def test_parities() -> None:
    threads = np.arange(4)
    assert parities(threads, Functional(3, 1)).tolist() == [1, 0, 0, 1]
