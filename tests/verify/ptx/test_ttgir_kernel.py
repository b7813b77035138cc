import pytest

from verify.ptx.ttgir_kernel import conversion_kernel


@pytest.mark.parametrize("shape", [[64], [1], [8, 4], [1, 32], [2, 4, 8], [2, 2, 2, 2]])
def test_each_value_is_defined_before_it_is_used(shape: list[int]) -> None:
    text = conversion_kernel("#ttg.a<{}>", "#ttg.b<{}>", shape, 32, 4)
    defined = {"%in", "%out"}
    for line in text.splitlines():
        words = line.replace(",", " ").split()
        used = {word for word in words if word.startswith("%")}
        if len(words) > 1 and words[1] == "=":
            used.discard(words[0])
        if line.strip().startswith("%") or "tt.store" in line:
            assert used <= defined, line
        if len(words) > 1 and words[1] == "=":
            defined.add(words[0])


def test_the_module_says_what_it_is_for() -> None:
    text = conversion_kernel("#ttg.a<{}>", "#ttg.b<{}>", [32], 8, 2, arch=80)
    assert 'ttg.target = "cuda:80"' in text
    assert '"ttg.num-warps" = 2' in text
    assert "#src = #ttg.a<{}>" in text
    assert "ttg.convert_layout" in text
