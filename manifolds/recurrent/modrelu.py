"""The nonlinearity that keeps the direction of its argument."""

import torch
from torch import Tensor


def modrelu(z: Tensor, bias: Tensor) -> Tensor:
    """Return ``sgn(z) relu(|z| + b)``, where ``sgn(z) = z / |z|`` and ``sgn(0) = 0``.

    Law: the identity at bias zero; commutes with multiplication by a number of modulus
    one; zero at z = 0, where the gradient is zero too, whatever the bias.

    Args:
        z: Real or complex [..., n].
        bias: Real [n].

    Returns:
        [..., n].

    Example:
        >>> modrelu(torch.tensor([3.0, -3.0, 0.5]), torch.tensor(-1.0)).tolist()
        [2.0, -2.0, 0.0]

    Source: M. Arjovsky, A. Shah, Y. Bengio, Unitary evolution recurrent neural
    networks, ICML 2016, section 4.3.
    """
    return z.sgn() * torch.relu(z.abs() + bias)


def modrelu_adjoint(h: Tensor, bias: Tensor, gradient: Tensor) -> Tensor:
    """Pull a gradient back through ``modrelu``, from its value alone.

    Where ``h`` is not zero it has the direction of z, and ``|z| = |h| - b``; where it
    is zero so is the derivative.

    Args:
        h: The value [..., n].
        bias: Real [n].
        gradient: With respect to h [..., n].

    Returns:
        The gradient with respect to z [..., n]. The one with respect to the bias is the
        sum over the batch of ``Re(conj(sgn h) *`` this ``)``.

    Example:
        >>> h, b = torch.tensor([2.0, 0.0]), torch.tensor([-1.0, -1.0])
        >>> modrelu_adjoint(h, b, torch.tensor([5.0, 5.0])).tolist()
        [5.0, 0.0]
    """
    if not h.is_complex():
        # several times faster than a product with a mask of booleans
        return h.sgn().abs_().mul_(gradient)
    radius = h.abs()
    direction = h.sgn()
    turned = direction.conj() * gradient
    before = radius - bias
    alive = (radius > 0) & (before > 0)
    stretch = torch.where(alive, radius / before.masked_fill(~alive, 1), 0)
    return direction * torch.complex(turned.real * alive, turned.imag * stretch)
