from manifolds import training


def test_face() -> None:
    assert all(hasattr(training, name) for name in training.__all__)
