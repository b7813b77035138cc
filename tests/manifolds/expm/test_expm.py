from manifolds import expm


def test_face() -> None:
    assert expm.__all__ == ["expm", "frechet"]
    assert all(callable(getattr(expm, name)) for name in expm.__all__)
