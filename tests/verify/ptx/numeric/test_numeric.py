import verify.ptx.numeric


def test_face() -> None:
    assert verify.ptx.numeric.__all__ == ["run_kernel"]
