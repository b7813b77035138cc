import pytest

from proofs.recorded import FOLDER, KINDS, vectors_of


@pytest.mark.parametrize("kind", KINDS)
def test_the_algebra_gives_what_the_wheel_gave(kind: str) -> None:
    vectors = vectors_of(kind)
    assert len(vectors) >= 40
    assert all(vector.agrees(vector.layout()) for vector in vectors)


def test_a_changed_basis_is_noticed() -> None:
    vector = vectors_of("blocked")[0]
    layout = vector.layout()
    renamed = layout.rename_in_dim("lane", "thread")
    assert not vector.agrees(renamed)


def test_each_kind_has_its_file() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} >= set(KINDS)
