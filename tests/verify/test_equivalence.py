import json
from pathlib import Path
from random import Random

import pytest

from algebra.encodings import (
    Blocked,
    Cga,
    DotOperand,
    NvidiaMma,
    SwizzledShared,
    from_dict,
)
from algebra.errors import EncodingError, LayoutError
from algebra.layout import LinearLayout
from algebra.verdict import Proved, Refuted, Unknown
from verify import equivalence, prove_encoding
from verify.equivalence import linear_terms
from verify.oracle.random_encodings import random_case, random_cases
from verify.oracle.random_matrices import random_surjective
from verify.terms import evaluate, variable

GOLDEN = Path(__file__).parents[3] / "shared" / "golden"
MODELLED = (
    "blocked",
    "slice",
    "dot_operand",
    "nvidia_mma",
    "amd_mfma",
    "amd_wmma",
    "swizzled_shared",
)
BLOCKED = Blocked(
    size_per_thread=(1, 4), threads_per_warp=(4, 8), warps_per_cta=(2, 1), order=(1, 0)
)


def test_a_blocked_encoding_is_proved_by_each_solver() -> None:
    for solver in ("z3", "bitwuzla", "both"):
        assert isinstance(prove_encoding(BLOCKED, [64, 64], solver=solver), Proved)


@pytest.mark.parametrize("release", ["3.6", "3.7", "3.8", "3.9"])
@pytest.mark.parametrize("kind", MODELLED)
def test_random_encodings_of_every_release(kind: str, release: str) -> None:
    rng = Random(f"{kind} {release}")
    proved = 0
    for _ in range(60):
        case = random_case(rng, kind)
        try:
            verdict = prove_encoding(
                from_dict(case.encoding), case.shape, release=release
            )
        except LayoutError:
            continue
        assert isinstance(verdict, Proved), (case, verdict)
        proved += 1
    assert proved > 40


@pytest.mark.slow
def test_no_false_alarm_in_twenty_thousand_encodings() -> None:
    for case in random_cases(2024, 20_000, MODELLED):
        verdict = prove_encoding(from_dict(case.encoding), case.shape)
        assert isinstance(verdict, Proved), (case, verdict)


@pytest.mark.skipif(not GOLDEN.exists(), reason="needs ../shared/golden")
@pytest.mark.parametrize(
    "name", ["layout_conversions.json", "derived_layout_conversions.json"]
)
def test_golden_encodings(name: str) -> None:
    checked = 0
    for case in json.loads((GOLDEN / name).read_text())["cases"]:
        encoding = from_dict(case["encoding"])
        if encoding.kind not in MODELLED:
            continue
        verdict = prove_encoding(encoding, case["shape"], release="3.8")
        assert isinstance(verdict, Proved), (case, verdict)
        checked += 1
    assert checked > 200


def test_a_wrong_order_is_refuted_with_an_element_that_replays() -> None:
    swapped = Blocked(
        size_per_thread=(1, 4),
        threads_per_warp=(4, 8),
        warps_per_cta=(2, 1),
        order=(0, 1),
    )
    wrong = swapped.to_linear_layout([64, 64])
    verdict = prove_encoding(BLOCKED, [64, 64], layout=wrong)
    assert isinstance(verdict, Refuted)
    found = dict(verdict.counterexample)
    legacy, linear = found.pop("legacy"), found.pop("linear")
    assert set(found) == {"register", "lane", "warp", "block"}
    assert wrong.apply(found) == linear != legacy
    assert BLOCKED.to_linear_layout([64, 64]).apply(found) == legacy


def test_a_missing_register_is_refuted() -> None:
    layout = BLOCKED.to_linear_layout([64, 64])
    short = layout.resize_in_dim("register", layout.in_dims["register"] // 2)
    verdict = prove_encoding(BLOCKED, [64, 64], layout=short)
    assert isinstance(verdict, Refuted)
    assert verdict.counterexample["register"] == short.in_dims["register"]
    assert verdict.counterexample["linear"] is None
    long = layout.resize_in_dim("register", layout.in_dims["register"] * 2)
    verdict = prove_encoding(BLOCKED, [64, 64], layout=long)
    assert isinstance(verdict, Refuted)
    assert verdict.counterexample["legacy"] is None


def test_another_shape_is_refuted() -> None:
    wrong = BLOCKED.to_linear_layout([64, 32])
    assert isinstance(prove_encoding(BLOCKED, [64, 64], layout=wrong), Refuted)


def test_a_wrong_swizzle_is_refuted() -> None:
    encoding = SwizzledShared(vec=4, per_phase=1, max_phase=4, order=(1, 0))
    other = SwizzledShared(vec=4, per_phase=2, max_phase=4, order=(1, 0))
    wrong = other.to_linear_layout([32, 32])
    verdict = prove_encoding(encoding, [32, 32], layout=wrong)
    assert isinstance(verdict, Refuted)
    found = verdict.counterexample
    at = {"offset": found["offset"], "block": found["block"]}
    assert wrong.apply(at) == found["linear"] != found["legacy"]
    assert encoding.to_linear_layout([32, 32]).apply(at) == found["legacy"]
    small = wrong.resize_in_dim("offset", 512)
    assert isinstance(prove_encoding(encoding, [32, 32], layout=small), Refuted)
    right = encoding.to_linear_layout([32, 32])
    large = right.resize_in_dim("offset", 2048)
    verdict = prove_encoding(encoding, [32, 32], layout=large)
    assert isinstance(verdict, Refuted)
    assert verdict.counterexample == {"offsets of the layout": 2048, "addresses": 1024}


@pytest.mark.parametrize(
    "encoding",
    [BLOCKED, SwizzledShared(vec=4, per_phase=1, max_phase=4, order=(1, 0))],
)
def test_a_counterexample_that_does_not_replay_is_unknown(
    encoding: Blocked | SwizzledShared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(equivalence, "prove", lambda *_, **__: Refuted({}))
    verdict = prove_encoding(encoding, [64, 64])
    assert isinstance(verdict, Unknown) and "does not replay" in verdict.reason


def test_a_swizzle_that_leaves_its_row_says_so() -> None:
    encoding = SwizzledShared(vec=8, per_phase=1, max_phase=8, order=(1, 0))
    verdict = prove_encoding(encoding, [32, 16])
    assert isinstance(verdict, Proved)
    assert "64 exceeds 16 columns" in dict(verdict.facts)["note"]


def test_blocks_are_part_of_the_statement() -> None:
    encoding = NvidiaMma(
        version=(2, 0),
        warps_per_cta=(2, 2),
        instr_shape=(16, 8),
        cga=Cga.from_split([2, 2], [2, 1], [1, 0]),
    )
    assert isinstance(prove_encoding(encoding, [128, 64]), Proved)
    layout = encoding.to_linear_layout([128, 64])
    bases = dict(layout.bases)
    bases["block"] = tuple(reversed(bases["block"]))
    wrong = LinearLayout.from_bases(bases, layout.out_dims)
    verdict = prove_encoding(encoding, [128, 64], layout=wrong)
    assert isinstance(verdict, Refuted)
    assert verdict.counterexample["block"] in (1, 2, 3)


def test_degenerate_shapes() -> None:
    assert isinstance(prove_encoding(BLOCKED, [1, 1]), Proved)
    line = Blocked(
        size_per_thread=(2,), threads_per_warp=(32,), warps_per_cta=(1,), order=(0,)
    )
    assert isinstance(prove_encoding(line, [1]), Proved)
    flat = SwizzledShared(vec=1, per_phase=1, max_phase=1, order=(0,))
    assert isinstance(prove_encoding(flat, [1]), Proved)


def test_a_kind_without_a_formula_is_unknown() -> None:
    case = random_case(Random(0), "linear")
    verdict = prove_encoding(from_dict(case.encoding), case.shape)
    assert isinstance(verdict, Unknown) and "no legacy formula" in verdict.reason


def test_a_shape_of_another_rank_is_an_error() -> None:
    with pytest.raises(EncodingError):
        prove_encoding(BLOCKED, [64])


def test_the_operand_of_a_large_tile_is_one_question() -> None:
    parent = NvidiaMma(version=(2, 0), warps_per_cta=(4, 2), instr_shape=(16, 8))
    operand = DotOperand(op_idx=0, parent=parent, k_width=2)
    verdict = prove_encoding(operand, [1024, 1024])
    assert isinstance(verdict, Proved)


def test_linear_terms_evaluate_as_the_layout() -> None:
    rng = Random(5)
    for _ in range(50):
        bits = [rng.randint(0, 3) for _ in range(3)]
        outs = {"dim0": 1 << rng.randint(0, 2), "dim1": 1 << rng.randint(0, 2)}
        need = sum(size.bit_length() - 1 for size in outs.values())
        if sum(bits) < need:
            continue
        layout = LinearLayout.from_columns(
            dict(zip("abc", bits, strict=True)),
            {name: size.bit_length() - 1 for name, size in outs.items()},
            random_surjective(rng, sum(bits), need),
        )
        inputs = {
            name: variable(name, size) for name, size in zip("abc", bits, strict=True)
        }
        terms = linear_terms(layout, inputs)
        for index in range(1 << sum(bits)):
            point = {}
            for name, size in zip("abc", bits, strict=True):
                point[name], index = index % (1 << size), index >> size
            values = [evaluate(term, point) for term in terms]
            assert values == list(layout.apply(point).values())
