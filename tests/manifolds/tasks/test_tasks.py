from manifolds import tasks


def test_face() -> None:
    assert all(hasattr(tasks, name) for name in tasks.__all__)
