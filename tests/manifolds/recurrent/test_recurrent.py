from manifolds import recurrent


def test_face() -> None:
    assert all(hasattr(recurrent, name) for name in recurrent.__all__)
