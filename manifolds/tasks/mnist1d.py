"""Ten shapes of 12 points, stretched, moved, sheared and blurred: MNIST-1D.

Generated here from the ten templates of the paper with transformations of its kind; not
sample for sample its data set.

Source: S. Greydanus, D. Kobak, Scaling down deep learning with MNIST-1D, 2020.
"""

import torch
from torch import Tensor

from .images import Images

STEPS = 40
TEMPLATES = (
    (5, 6, 6.5, 6.75, 7, 7, 7, 7, 6.75, 6.5, 6, 5),
    (5, 3, 3, 3.4, 3.8, 4.2, 4.6, 5, 5.4, 5.8, 5, 5),
    (5, 6, 6.5, 6.5, 6, 5.25, 4.75, 4, 3.5, 3.5, 4, 5),
    (5, 6, 6.5, 6.5, 6, 5, 5, 6, 6.5, 6.5, 6, 5),
    (5, 4.4, 3.8, 3.2, 2.6, 2.6, 5, 5, 5, 5, 5, 5),
    (5, 3, 3, 3, 3, 5, 6, 6.5, 6.5, 6, 4.5, 5),
    (5, 4, 3.5, 3.25, 3, 3, 3, 3, 3.25, 3.5, 4, 5),
    (5, 7, 7, 6.6, 6.2, 5.8, 5.4, 5, 4.6, 4.2, 5, 5),
    (5, 4, 3.5, 3.5, 4, 5, 5, 4, 3.5, 3.5, 4, 5),
    (5, 4, 3.5, 3.5, 4, 5, 5, 5, 5, 4.7, 4.3, 5),
)


def mnist1d(images: int = 5000, seed: int = 42) -> Images:
    """Return the task.

    Args:
        images: Of all classes together; every fifth is for testing.
        seed: Of everything random.

    Returns:
        The task, 40 steps.

    Example:
        >>> mnist1d(50).test[0].shape
        torch.Size([10, 40])
    """
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(images) % len(TEMPLATES)
    signals = distort(torch.tensor(TEMPLATES)[labels], generator)
    tested = torch.arange(images) // len(TEMPLATES) % 5 == 0
    return Images(
        (signals[~tested], labels[~tested]), (signals[tested], labels[tested])
    )


def distort(shapes: Tensor, generator: torch.Generator) -> Tensor:
    """Stretch, scale, shear, move and blur shapes.

    Args:
        shapes: [images, points].
        generator: Source of randomness.

    Returns:
        [images, 40].
    """
    images, points = shapes.shape

    def uniform(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(images, 1, generator=generator)

    centred = (shapes - 5) / 2
    width = uniform(0.35, 0.7)
    left = uniform(0, 1) * (1 - width)
    place = (torch.linspace(0, 1, STEPS) - left) / width * (points - 1)
    inside = (place >= 0) & (place <= points - 1)
    below = place.clamp(0, points - 1).floor().long().clamp(max=points - 2)
    part = place.clamp(0, points - 1) - below
    values = centred.gather(1, below) * (1 - part)
    values = values + centred.gather(1, below + 1) * part
    shear = uniform(-0.75, 0.75) * torch.linspace(-0.5, 0.5, STEPS)
    signal = values * inside * uniform(0.6, 1.4) + shear
    slow = torch.randn(images, 1, STEPS, generator=generator)
    kernel = torch.ones(1, 1, 9) / 9
    blurred = torch.nn.functional.conv1d(slow, kernel, padding=4).squeeze(1)
    noise = 0.02 * torch.randn(images, STEPS, generator=generator)
    return signal + 0.25 * blurred + noise
