import json
from pathlib import Path

import pytest

from algebra import UnsupportedLayoutError
from compiler.cost import DEVICES, device

KINDS = {
    "shfl",
    "prmt",
    "selp",
    "alu",
    "st.shared",
    "ld.shared",
    "stmatrix",
    "ldmatrix",
    "wavefronts",
    "bar.warp",
    "bar.sync",
    "bar.cluster",
}


@pytest.mark.parametrize("name", DEVICES)
def test_each_device_knows_each_class_and_where_its_cost_is_from(name: str) -> None:
    costs = dict(device(name).costs)
    assert set(costs) == KINDS
    for constant in costs.values():
        assert constant.cycles >= 0
        assert constant.origin in ("documented", "assumed") or constant.origin.endswith(
            ".json"
        )


@pytest.mark.parametrize("name", DEVICES)
def test_each_device_knows_what_is_waited_for(name: str) -> None:
    waits = {"shfl", "pass", "bar.warp", "bar.sync", "bar.cluster"}
    assert {kind for kind, _ in device(name).latencies} == waits


def test_measured_latencies_are_those_of_four_warps_alone(repository: Path) -> None:
    path = repository / "benchmarks" / "results" / "device_costs.json"
    columns = json.loads(path.read_text())["columns"]
    alone, busy = columns["alone"]["measured"], columns["saturated"]["measured"]
    hopper = device("sm_90")
    warps, chains = 4, 4
    assert round(alone["shfl"] * warps * chains) == hopper.latency("shfl")
    both = (alone["store and load"] - busy["store and load"]) * warps
    assert round(both) == hopper.latency("pass")
    rounds = (alone["block round"] - alone["store and load"]) / 2 * warps
    assert round(rounds - warps * hopper.cycles("bar.sync")) == hopper.latency(
        "bar.sync"
    )


def test_measured_costs_are_those_of_the_result_file(repository: Path) -> None:
    path = repository / "benchmarks" / "results" / "device_costs.json"
    busy = json.loads(path.read_text())["columns"]["saturated"]["table"]
    for kind, constant in device("sm_90").costs:
        if constant.origin == path.name:
            assert constant.cycles == round(busy[kind], 1)


def test_unknown_devices() -> None:
    with pytest.raises(UnsupportedLayoutError, match="sm_90"):
        device("sm_70")
