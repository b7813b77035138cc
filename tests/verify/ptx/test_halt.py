from verify.ptx.halt import Fault, FaultError, UnsupportedError


def test_a_fault_says_who_where_and_what() -> None:
    fault = Fault("race", 7, "ret", 33, "a", "b", "zeros")
    assert str(fault) == (
        "race: thread 33 (warp 1, lane 1) at line 7 `ret`: expected a, got b, "
        "for the input zeros"
    )
    assert str(FaultError(fault)) == str(fault)


def test_a_fault_without_a_line() -> None:
    assert str(Fault("missing store", 0, "", 0, "a", "b")) == (
        "missing store: thread 0 (warp 0, lane 0): expected a, got b"
    )


def test_what_is_unsupported_names_its_line() -> None:
    error = UnsupportedError(3, "what")
    assert (str(error), error.line) == ("line 3: what", 3)
