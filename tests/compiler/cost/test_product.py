import json
from pathlib import Path

from benchmarks.product_alignment_gpu import alignment_of, medians
from compiler.cost.product import LIBRARY, MULTIPLY_ADDS, product_cost

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
