import sys
from importlib import import_module
from types import ModuleType

import pytest

from verify.mutants.compiler import COMPILER_FAULTS, FAULTS, Change, Fault, applied

MERGE = "compiler.schedule.merge"


def test_every_kind_of_the_compilers_faults_is_there() -> None:
    assert {fault.number for fault in COMPILER_FAULTS} == set(range(24, 48))
    assert len(FAULTS) == len(COMPILER_FAULTS)
    assert all(fault.precedent and fault.changes for fault in COMPILER_FAULTS)


@pytest.mark.parametrize("fault", COMPILER_FAULTS, ids=lambda fault: fault.name)
def test_what_a_fault_replaces_exists(fault: Fault) -> None:
    for change in fault.changes:
        owner, name = change.target()
        assert change.make(vars(owner)[name]) is not vars(owner)[name]


def test_functions_are_replaced_under_all_their_names_and_put_back() -> None:
    merge, groups = import_module(MERGE), import_module("compiler.schedule.groups")
    right = merge.merged

    def wrong() -> None:
        return None

    with applied([Change(f"{MERGE}:merged", lambda _: wrong)]):
        assert merge.merged is wrong and groups.merged is wrong
        # a module that is imported meanwhile takes the wrong one
        late = ModuleType("compiler.late")
        late.merged = merge.merged  # type: ignore[attr-defined]  # a module by hand
        sys.modules["compiler.late"] = late
    try:
        assert merge.merged is right and groups.merged is right
        assert late.merged is right
    finally:
        del sys.modules["compiler.late"]


def test_methods_and_constants_are_put_back_after_an_error() -> None:
    emitter = import_module("compiler.schedule.memory")._Planner
    right = vars(emitter)["_top"]
    scan = import_module("compiler.codegen.cpp.scan")
    chunk = scan.CHUNK
    changes = [
        Change("compiler.schedule.memory:_Planner._top", lambda _: len),
        Change("compiler.codegen.cpp.scan:CHUNK", lambda _: 2),
    ]
    with pytest.raises(ZeroDivisionError), applied(changes):
        assert vars(emitter)["_top"] is len and scan.CHUNK == 2
        raise ZeroDivisionError
    assert vars(emitter)["_top"] is right and chunk == scan.CHUNK


def test_what_is_not_there_is_an_error() -> None:
    with pytest.raises(AttributeError), applied([Change(f"{MERGE}:no", lambda _: 0)]):
        pass
