from collections.abc import Sequence
from dataclasses import replace

from algebra import LinearLayout, Refuted
from algebra.encodings import NvidiaMma
from compiler.convert.reduction import Exchange, Pass, ReductionStep, plan_reduction
from compiler.convert.reduction_judges import prove, simulate

ROWS = ["dim0", "dim1"]
ACCUMULATOR = NvidiaMma(
    version=(3, 0), warps_per_cta=(4, 1), instr_shape=(16, 64, 16)
).to_linear_layout([64, 64])


def test_faults_are_refuted() -> None:
    found = plan_reduction(ACCUMULATOR, ["dim0"])

    def refuted(steps: Sequence[ReductionStep]) -> None:
        arguments = (found.src, tuple(steps), found.dims, found.dst)
        assert isinstance(prove(*arguments), Refuted)
        try:
            right = simulate(*arguments)
        except (IndexError, ValueError):
            return
        assert not right

    steps = list(found.steps)
    exchange = next(s for s in steps if isinstance(s, Exchange))
    through = next(s for s in steps if isinstance(s, Pass))
    refuted(steps[:-1])
    refuted([*steps, exchange])  # combines an element twice
    refuted([*steps[:-1], replace(through, silent=0)][:-1])
    refuted([*steps[:-1], replace(through, places=through.places[:1])])
    doubled = (*through.places[:1], through.places[0])
    refuted([*steps[:-1], replace(through, places=doubled)])


def test_unequal_addresses_are_refuted() -> None:
    layout = LinearLayout.from_bases({"lane": [[0, 1], [0, 0]], "warp": [[1, 0]]}, ROWS)
    found = plan_reduction(layout, ["dim0"])
    (through,) = found.steps
    assert isinstance(through, Pass) and through.silent
    loud = replace(through, silent=0)
    assert isinstance(prove(found.src, (loud,), found.dims, found.dst), Refuted)
    assert not simulate(found.src, (loud,), found.dims, found.dst)
