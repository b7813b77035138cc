from compiler.convert.steps import SCOPES, Barrier


def test_scopes_widen() -> None:
    assert SCOPES == ("warp", "block", "cluster")
    assert Barrier("warp") == Barrier("warp") != Barrier("block")
