from manifolds import charts


def test_face() -> None:
    assert all(hasattr(charts, name) for name in charts.__all__)
