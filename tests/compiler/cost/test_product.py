import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.product_alignment_gpu import alignment_of, medians
from benchmarks.product_epilogue_gpu import faster
from compiler.cost.product import (
    LIBRARY,
    MULTIPLY_ADDS,
    TEMPLATE,
    ShapeClass,
    product_cost,
)

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results"


def test_cost_is_work_over_rate() -> None:
    one = product_cost((64, 64, 64), 16, "wgmma", 4)
    assert product_cost((128, 64, 64), 16, "wgmma", 4) == 2 * one
    assert product_cost((64, 64, 64), 8, "wgmma", 4) == one / 2
    assert product_cost((64, 64, 64), 16, "wgmma", 8) == one / 2


def test_wgmma_is_the_faster_one() -> None:
    assert MULTIPLY_ADDS["wgmma"].cycles > MULTIPLY_ADDS["mma"].cycles


def test_aligned_rows_are_never_slower() -> None:
    work = 2 * 1024**3
    taken = [LIBRARY.seconds(work, alignment) for alignment in (2, 4, 8, 16)]
    assert taken == sorted(taken, reverse=True) and taken[0] > taken[-1]
    assert LIBRARY.seconds(2 * work, 16) == 2 * taken[-1]
    assert LIBRARY.copying(2 * work) == 2 * LIBRARY.copying(work)


def test_rates_are_medians_of_what_was_measured() -> None:
    report = json.loads((RESULTS / LIBRARY.origin).read_text())
    for row in report["cases"]:
        row["alignment"] = alignment_of(report["sizes"][row["sizes"]], row["case"])
    found = {
        kind: float(f"{rate:.1e}") for kind, rate in medians(report["cases"]).items()
    }
    rates = {str(at): rate for at, rate in LIBRARY.rates.items()}
    assert found == {**rates, "rows": LIBRARY.odd_rows}
    spread: dict[str, list[float]] = {}
    for row in report["cases"]:
        spread.setdefault(row["alignment"], []).append(row["rate"])
    # what counts is all that counts: no case is far from its median
    for kind, rate in medians(report["cases"]).items():
        assert min(spread[kind]) > 0.65 * rate and max(spread[kind]) < 1.35 * rate


def test_an_odd_number_of_rows_counts_only_where_nothing_else_does() -> None:
    work = 2 * 1024**3
    for at in (2, 4, 8):
        assert LIBRARY.seconds(work, at, True) == LIBRARY.seconds(work, at)
    fast, odd = (LIBRARY.seconds(work, 16, rows) for rows in (False, True))
    assert fast < odd < LIBRARY.seconds(work, 8)


def test_narrow_products_take_whole_tiles() -> None:
    one = LIBRARY.narrow(1, 8192, 1, 768)
    assert LIBRARY.launch < one == LIBRARY.narrow(1, 8192, 128, 768)
    rounds = LIBRARY.narrow(1, 132 * 128 + 1, 1, 768) - LIBRARY.launch
    assert abs(rounds - 2 * (one - LIBRARY.launch)) < 1e-12
    assert LIBRARY.narrow(1, 8192, 768, 1) == LIBRARY.narrow(1, 8192, 768, 32)
    whole = 2 * 132 * 128 * 128 * 768
    assert abs(one - LIBRARY.launch - LIBRARY.seconds(whole, 2)) < 1e-12


def test_tiles_are_done_in_rounds() -> None:
    tiling = next(iter(TEMPLATE.rates))
    one = TEMPLATE.seconds((tiling.rows, tiling.columns, 768), tiling)
    full = (tiling.rows * 12, tiling.columns * 11, 768)
    assert TEMPLATE.seconds(full, tiling) == one
    assert TEMPLATE.seconds((tiling.rows * 12 + 1, full[1], 768), tiling) == 2 * one
    assert TEMPLATE.seconds((*full[:2], 1536), tiling) == 2 * one
    work = 2 * full[0] * full[1] * full[2]
    assert abs(work / one / TEMPLATE.rates[tiling] - 1) < 1e-9


def test_small_products_get_small_tiles() -> None:
    large, small = (TEMPLATE.best((n, n, 1024)) for n in (8192, 512))
    assert large.rows * large.columns > small.rows * small.columns


def test_products_of_a_class_have_about_the_same_size() -> None:
    def of(*shape: int) -> ShapeClass:
        return ShapeClass.of(shape, (True, True), costly=False)  # type: ignore[arg-type]

    assert of(8192, 3072, 768) == of(3072, 8192, 1023) != of(8192, 3072, 1024)
    assert of(8192, 3072, 768) != of(16384, 3072, 768)
    assert of(1, 1, 32).tiles == 0


def test_what_is_faster_is_what_was_measured() -> None:
    """Without a result file nothing may be said to be faster."""
    path = RESULTS / "product_epilogue_gpu.json"
    cases = json.loads(path.read_text())["cases"] if path.exists() else []
    assert dict(TEMPLATE.faster) == faster(cases)
    wastes = [0.0]
    for case in cases:
        tiles, terms, turned, *rest = case["class"]
        tiling = TEMPLATE.faster.get(ShapeClass(tiles, terms, tuple(turned), *rest))
        if tiling is not None:
            wastes.append(TEMPLATE.waste(case["shape"], tiling))
    assert 0 <= TEMPLATE.most_waste - max(wastes) < 0.01


def test_a_tiling_must_be_faster_for_all_of_a_class() -> None:
    key = ShapeClass.of((8192, 3072, 768), (True, True), costly=True)
    one, other, *_ = TEMPLATE.rates

    def row(*seconds: float) -> dict[str, Any]:
        tilings = [
            {"tiling": asdict(tiling), "seconds": taken}
            for tiling, taken in zip((one, other), seconds, strict=True)
        ]
        refused = {"tiling": asdict(one), "refused": "why"}
        return {
            "class": list(key),
            "separate_seconds": 1.0,
            "tilings": [*tilings, refused],
        }

    assert faster([row(0.9, 0.8)]) == {key: other}
    assert faster([row(0.9, 0.8), row(0.9, 1.0)]) == {key: one}
    assert faster([row(0.9, 0.8), row(1.0, 1.0)]) == {}
    assert faster([row(0.98, 0.99)]) == {}
    assert faster([{"case": "late", "skipped": "deadline"}]) == {}
