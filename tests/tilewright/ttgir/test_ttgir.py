import tilewright.ttgir as face


def test_the_face_is_complete() -> None:
    assert set(face.__all__) == {"Instead", "Left", "conversions_left", "instead_of"}
    assert all(hasattr(face, name) for name in face.__all__)
