import torch

from manifolds.expm.evaluation import compute, flatten, spoil


def test_nothing_gives_nothing() -> None:
    value, tape = compute([torch.zeros(2, 0, 0)])
    assert value.shape == (2, 0, 0)
    assert tape is None


def test_value_has_the_shape_of_the_matrix() -> None:
    """By the general scheme with a tape, and by compiled code without."""
    for n, has_tape in ((20, True), (4, False)):
        value, tape = compute([torch.zeros(2, 3, n, n), torch.ones(2, 3, n, n)])
        assert torch.equal(value, torch.ones(2, 3, n, n))
        assert (tape is not None) == has_tape


def test_flat_batches_are_contiguous() -> None:
    flat = flatten(torch.randn(2, 3, 4, 4, dtype=torch.complex64).mH)
    assert flat.shape == (6, 4, 4)
    assert flat.is_contiguous()
    assert not flat.is_conj()


def test_spoilt_matrices_are_nan() -> None:
    assert spoil(torch.zeros(2, 1, 1), (1,)).flatten().isnan().tolist() == [False, True]
