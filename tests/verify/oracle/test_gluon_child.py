from pathlib import Path

from verify.oracle import gluon_child
from verify.oracle.wheel import Wheel

MODULE = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

@gluon.jit
def copy(source, target):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [1], [0])
    place = gl.arange(0, 32, layout)
    gl.store(target + place, gl.load(source + place))
"""
SIGNATURE = {"source": "*i32", "target": "*i32"}


def test_answers() -> None:
    with Wheel(child=Path(gluon_child.__file__)) as wheel:
        good, bad, version = wheel.ask(
            [
                ["compile", MODULE, "copy", SIGNATURE, 1, 90],
                ["compile", "def copy(", "copy", SIGNATURE, 1, 90],
                ["version"],
            ]
        )
    assert "ld.global" in good["value"]["ptx"] and good["value"]["shared"] == 0
    assert "SyntaxError" in bad["error"]
    assert version["value"].startswith("3.")
