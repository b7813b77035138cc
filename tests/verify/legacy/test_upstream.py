from verify.legacy.upstream import COMMIT, UTILITY, upstream


def test_a_citation_names_commit_file_and_function() -> None:
    cited = upstream("emitOffsetForBlockedLayout")
    assert COMMIT[:12] in cited and UTILITY in cited
    assert cited.endswith("emitOffsetForBlockedLayout")
    assert len(COMMIT) == 40
    assert "lib/x.cpp" in upstream("f", "lib/x.cpp")
