import re
from typing import Any

import pytest

from algebra import AffineLayout, DimMismatchError, LinearLayout, ParseError
from algebra.verdict import Proved, Refuted, Unknown
from verify.ptx import Fault, prove_conversion
from verify.ptx.campaign import Outcome

COPY = """
.visible .entry copy(.param .u64 .ptr .global a, .param .u64 .ptr .global b)
.reqntid 32
{
  .reg .b32 %r<9>;
  .reg .b64 %rd<9>;
  .reg .pred %p<3>;
  ld.param.b64 %rd1, [a];
  ld.param.b64 %rd2, [b];
  mov.u32 %r1, %tid.x;
  mad.wide.u32 %rd3, %r1, 4, %rd1;
  mad.wide.u32 %rd4, %r1, 4, %rd2;
  ld.global.b32 %r2, [%rd3];
  st.global.b32 [%rd4], %r2;
  ret;
}
"""
LANES = LinearLayout.identity_1d(32, "lane", "dim0")


def judge(text: str) -> Any:
    return prove_conversion(text, LANES, LANES, 32)


def fault(text: str) -> Fault:
    verdict = judge(text)
    assert isinstance(verdict, Refuted)
    assert isinstance(verdict.counterexample, Fault)
    return verdict.counterexample


@pytest.mark.parametrize(
    "name",
    ["shared", "bytes", "matrix", "shuffle", "shuffled bytes", "broadcast", "wide"],
)
def test_kernels_of_the_installed_triton(
    outcomes: dict[str, Outcome], name: str
) -> None:
    assert isinstance(outcomes[name].verdict, Proved)


def test_the_kernels_use_what_their_names_say(outcomes: dict[str, Outcome]) -> None:
    for name, opcode in [
        ("shared", "st.shared.b32"),
        ("bytes", "prmt.b32"),
        ("shuffle", "shfl.sync"),
        ("shuffled bytes", "shfl.sync"),
        ("broadcast", "@%p1 st.global"),
        ("wide", "st.shared.b64"),
    ]:
        assert opcode in outcomes[name].ptx
    assert "shared" not in re.sub(r"global_smem.*", "", outcomes["shuffle"].ptx)


def test_a_proof_says_what_it_covers() -> None:
    facts = dict(judge(COPY).facts)
    assert (facts["threads"], facts["elements"]) == (32, 32)


def test_other_layouts_than_the_kernel_has(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["shared"]
    src, dst = outcome.conversion.layouts("3.7")
    for given, kind in [((dst, dst), "wrong loads"), ((src, src), "wrong stores")]:
        verdict = prove_conversion(outcome.ptx, *given, 32)
        assert isinstance(verdict, Refuted)
        assert verdict.counterexample.kind == kind


def test_too_little_shared_memory(outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes["shared"]
    layouts = outcome.conversion.layouts("3.7")
    assert isinstance(
        prove_conversion(outcome.ptx, *layouts, 32, shared_bytes=4096), Proved
    )
    verdict = prove_conversion(outcome.ptx, *layouts, 32, shared_bytes=4092)
    assert isinstance(verdict, Refuted)
    assert verdict.counterexample.kind == "outside shared memory"


def test_a_wrong_element_is_named() -> None:
    found = fault(COPY.replace("[%rd3]", "[%rd1+4]"))
    assert (found.kind, found.thread, found.line) == ("wrong element", 0, 14)
    assert found.instruction == "st.global.b32 [%rd4], %r2"
    assert found.expected == "byte 0 of element 0"
    assert found.actual == "byte 0 of element 1"


def test_a_constant_instead_of_an_element() -> None:
    assert fault(COPY.replace("[%rd4], %r2", "[%rd4], 7")).actual == "constant 0x07"


def test_a_register_never_written() -> None:
    found = fault(COPY.replace("[%rd4], %r2", "[%rd4], %r3"))
    assert (found.kind, found.actual) == ("undefined value", "%r3 was never written")


def test_an_element_that_is_never_stored() -> None:
    guarded = COPY.replace("st.global", "setp.ne.u32 %p1, %r1, 5;\n  @%p1 st.global")
    found = fault(guarded)
    assert (found.kind, found.expected) == ("missing store", "element 5 stored")


def test_a_switched_off_register_is_a_destination_too() -> None:
    """Lane 16 on holds copies; they must be right though nobody stores them."""
    halves = LinearLayout.from_bases({"lane": [[1], [2], [4], [8], [0]]}, {"dim0": 16})
    text = COPY.replace(
        "mad.wide.u32 %rd3",
        "setp.lt.u32 %p1, %r1, 16;\n  and.b32 %r1, %r1, 15;\n  mad.wide.u32 %rd3",
    ).replace("st.global", "@%p1 st.global")
    assert isinstance(prove_conversion(text, halves, halves, 32), Proved)
    spoilt = text.replace("@%p1", "selp.b32 %r2, %r2, 0, %p1;\n  @%p1")
    verdict = prove_conversion(spoilt, halves, halves, 32)
    assert isinstance(verdict, Refuted)
    assert verdict.counterexample.thread == 16


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("[%rd4], %r2", "[%rd4+128], %r2", "outside the buffer"),
        ("[%rd3]", "[%rd3+2]", "misaligned address"),
        ("[%rd4], %r2", "[%rd3], %r2", "store to the input"),
        ("ret;", "trap;", "trap"),
        ("st.global.b32 [%rd4], %r2;", "", "missing store"),
    ],
)
def test_faults(old: str, new: str, kind: str) -> None:
    assert fault(COPY.replace(old, new)).kind == kind


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        ("sin.approx.f32 %r2, %r2;", "line 14: `sin.approx.f32`: unknown opcode"),
        ("add.rn.f32 %r2, %r2, %r2;", "line 14: `add.rn.f32`: modifiers"),
        ("@%p1 bra NOWHERE;", "no label"),
        ("BACK: mov.b32 %r3, 0; bra BACK;", "line 14: `bra`: a loop"),
        ("setp.eq.b32 %p1, %r2, 0; @%p1 mov.b32 %r2, 0;", "a guard"),
        ("mov.u32 %r3, %ctaid.x; add.s32 %r2, %r2, %r3;", "%ctaid.x"),
        ("ld.global.b32 %r2, [%rd4];", "the output is read back"),
        ("ld.b32 %r2, [%rd3];", "a generic address"),
        ("ld.global.relaxed.gpu.b32 %r2, [%rd3];", "modifier .relaxed"),
        ("wgmma.fence.sync.aligned;", "unknown opcode"),
        ("bar.sync 0, 16;", "a barrier of some threads"),
        (".local .b8 depot[16];", "line 14: `.local`: unknown opcode"),
        ("cp.async.bulk.tensor.2d [%r1], [%rd1, {%r2, %r3}], [%r3];", "unknown opcode"),
    ],
)
def test_what_is_not_modelled_is_unknown(new: str, reason: str) -> None:
    text = COPY.replace("st.global", new + "\n  st.global")
    if "bra NOWHERE" in new:
        text = text.replace("@%p1", "setp.eq.u32 %p1, %r1, 99;\n  @%p1")
    verdict = judge(text)
    assert isinstance(verdict, Unknown)
    assert reason in verdict.reason


def test_data_within_a_byte_is_tried_on_one_input() -> None:
    found = fault(COPY.replace("st.global", "shl.b32 %r2, %r2, 1;\n  st.global"))
    assert found.kind == "wrong element"
    assert "default_rng(0)" in str(found)


def test_arithmetic_on_data_that_is_harmless_stays_unknown() -> None:
    text = COPY.replace(
        "st.global", "add.s32 %r3, %r2, 1;\n  sub.s32 %r2, %r3, 1;\n  st.global"
    )
    assert isinstance(judge(text), Unknown)


def test_a_branch_around_the_stores_of_copies() -> None:
    """The registers behind it cannot be seen: neither a proof nor a fault."""
    halves = LinearLayout.from_bases({"lane": [[1], [2], [4], [8], [0]]}, {"dim0": 16})
    text = COPY.replace(
        "mad.wide.u32 %rd3",
        "setp.ge.u32 %p1, %r1, 16;\n  and.b32 %r1, %r1, 15;\n  mad.wide.u32 %rd3",
    ).replace("st.global", "@%p1 bra DONE;\n  st.global")
    text = text.replace("ret;", "DONE:\n  ret;")
    verdict = prove_conversion(text, halves, halves, 32)
    assert isinstance(verdict, Unknown)
    assert "a branch hides registers of thread 16" in verdict.reason


def test_an_affine_destination() -> None:
    flipped = AffineLayout(LANES, {"dim0": 31})
    text = COPY.replace(
        "  mad.wide.u32 %rd4", "  xor.b32 %r3, %r1, 31;\n  mad.wide.u32 %rd4"
    ).replace("%rd4, %r1", "%rd4, %r3")
    assert isinstance(prove_conversion(text, LANES, flipped, 32), Refuted)
    text = text.replace(
        "st.global", "shfl.sync.bfly.b32 %r2, %r2, 31, 31, -1;\n  st.global"
    )
    assert isinstance(prove_conversion(text, LANES, flipped, 32), Proved)


def test_elements_of_16_bytes() -> None:
    text = COPY.replace("%r1, 4,", "%r1, 16,")
    text = text.replace("ld.global.b32 %r2,", "ld.global.v4.b32 {%r2, %r3, %r4, %r5},")
    halves = ("[%rd4], {%r2, %r3};", "[%rd4+8], {%r4, %r5};")
    text = text.replace(
        "st.global.b32 [%rd4], %r2;",
        "\n".join("st.global.v2.b32 " + half for half in halves),
    )
    assert isinstance(prove_conversion(text, LANES, LANES, 128), Proved)
    swapped = text.replace("{%r4, %r5};", "{%r5, %r4};")
    verdict = prove_conversion(swapped, LANES, LANES, 128)
    assert isinstance(verdict, Refuted)
    assert verdict.counterexample.expected == "byte 8 of element 0"


def test_the_order_in_which_a_layout_lists_its_dims(
    outcomes: dict[str, Outcome],
) -> None:
    outcome = outcomes["shared"]
    src, dst = outcome.conversion.layouts("3.7")
    for one in (src, src.transpose_outs(["dim1", "dim0"])):
        for other in (dst, dst.transpose_outs(["dim1", "dim0"])):
            assert isinstance(prove_conversion(outcome.ptx, one, other, 32), Proved)


def test_an_empty_tensor_of_one_element() -> None:
    one = LinearLayout.from_bases({"lane": [[0]] * 5}, {"dim0": 1})
    text = COPY.replace("%r1, %tid.x", "%r1, 0")
    assert isinstance(prove_conversion(text, one, one, 32), Proved)


def test_text_that_is_no_ptx() -> None:
    with pytest.raises(ParseError, match="entry function"):
        judge("hello")


def test_questions_without_a_meaning() -> None:
    other = LinearLayout.identity_1d(32, "lane", "dim1")
    with pytest.raises(DimMismatchError, match="src="):
        prove_conversion(COPY, LANES, other, 32)
    warps = LANES * LinearLayout.zeros_1d(2, "warp", "dim0")
    with pytest.raises(DimMismatchError, match="threads=64"):
        prove_conversion(COPY, LANES, warps, 32)
    with pytest.raises(DimMismatchError, match="threads=32"):
        prove_conversion(COPY, warps, warps, 32)
    blocks = LANES * LinearLayout.zeros_1d(2, "block", "dim0")
    with pytest.raises(DimMismatchError, match="block=2"):
        prove_conversion(COPY, blocks, blocks, 32)
    with pytest.raises(DimMismatchError, match="element_bits=4"):
        prove_conversion(COPY, LANES, LANES, 4)
