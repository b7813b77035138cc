# ruff: noqa: E501 - operations stand on one line
from verify.mlir import operations_of, read_module
from verify.performance.report import Layouts
from verify.performance.sectors import traffic_of
from verify.ttir import evaluate

TEXT = """
#b = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
module {
  tt.func public @k(%x: !tt.ptr<f32>, %n: i32) {
    %r = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #b>
    %s = tt.splat %x : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>, #b>
    %p = tt.addptr %s, %r : tensor<32x!tt.ptr<f32>, #b>, tensor<32xi32, #b>
    %v = tt.load %p : tensor<32x!tt.ptr<f32>, #b>
    tt.store %s, %v : tensor<32x!tt.ptr<f32>, #b>
    tt.return
  }
}
"""


def test_sectors_of_a_warp() -> None:
    module = read_module(TEXT)
    found = traffic_of(evaluate(module), Layouts(module))
    lines = {o.name: o.line for o in operations_of(module.functions["k"].body)}
    load, store = found[lines["tt.load"]], found[lines["tt.store"]]
    assert (load.vector, load.sectors, load.least) == (1, 4, 4)
    assert (store.sectors, store.least) == (1, 1)
    assert load.buffer == "x" and load.element_bits == 32


def test_accesses_without_a_layout_have_no_traffic() -> None:
    module = read_module(TEXT.replace(", #b>", ">"))
    assert traffic_of(evaluate(module), Layouts(module)) == {}
