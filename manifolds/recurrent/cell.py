"""One step of an expRNN."""

import math

import torch
from torch import Tensor, nn

from manifolds.charts.rotations import Map
from manifolds.constraint import orthogonal
from manifolds.errors import PrecisionError, ShapeError

from .modrelu import modrelu
from .rows import choose_rows


class ExpRNNCell(nn.Module):
    """``h' = modrelu(x W_in + h B; b)`` with B orthogonal or unitary.

    B is ``recurrent``, a parametrized weight: read it once for many steps. W_in starts
    as Kaiming-normal numbers, b uniform in [-0.01, 0.01], as in the paper.

    Args:
        input_size: Elements of x; also the number of classes where x is integer.
        hidden_size: n, elements of h.
        map: Of the trivialization, see ``manifolds.orthogonal``.
        every: K, optimizer steps between changes of its base; None is expRNN.
        init: Of B: ``"henaff"``, ``"cayley"``, ``"sample"``, ``"identity"`` or a
            tensor.
        project_every: M, changes of the base between repairs.
        dtype: float32, float64; complex64 or complex128 make B unitary.
        device: Of everything.
        generator: Source of randomness of B.

    Raises:
        ShapeError: A size is not positive.
        PrecisionError: Half precision or an integer.

    Example:
        >>> cell = ExpRNNCell(2, 8)
        >>> cell(torch.ones(5, 2)).shape
        torch.Size([5, 8])

    Source: Lezcano-Casado, Martinez-Rubio, ICML 2019, section 4.
    """

    recurrent: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        map: Map = "exp",
        every: int | None = None,
        *,
        init: str | Tensor = "henaff",
        project_every: int | None = 30,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if input_size < 1 or hidden_size < 1:
            raise ShapeError(
                f"positive sizes are needed, but input_size={input_size}, "
                f"hidden_size={hidden_size}",
                input_size=input_size,
                hidden_size=hidden_size,
            )
        dtype = dtype or torch.get_default_dtype()
        self.input_size = input_size
        self.hidden_size = hidden_size
        kernel = torch.randn(input_size, hidden_size, dtype=dtype, device=device)
        self.kernel = nn.Parameter(kernel * math.sqrt(2 / input_size))
        small = torch.empty(hidden_size, dtype=dtype, device=device).real
        self.bias = nn.Parameter(torch.empty_like(small).uniform_(-0.01, 0.01))
        self.recurrent = nn.Parameter(
            torch.eye(hidden_size, dtype=dtype, device=device)
        )
        if dtype in (torch.bfloat16, torch.float16):
            raise PrecisionError(
                f"float32 or more is needed, but dtype={dtype}: over many steps a "
                "recurrence in half precision is not orthogonal",
                dtype=dtype,
            )
        det = None if dtype.is_complex else 1
        orthogonal(
            self,
            "recurrent",
            map,
            every,
            det=det,
            project_every=project_every,
            init=init,
            generator=generator,
        )

    def project(self, x: Tensor) -> Tensor:
        """Multiply inputs by W_in; integers choose its rows.

        Args:
            x: [..., input_size], or integers [...].

        Returns:
            [..., hidden_size].

        Raises:
            ShapeError: The last extent is not ``input_size``, or an integer is no row.
            PrecisionError: x is complex and W_in real.
        """
        if not (x.is_floating_point() or x.is_complex()):
            return choose_rows(self.kernel, x)
        if x.dim() < 1 or x.shape[-1] != self.input_size:
            raise ShapeError(
                f"inputs [..., {self.input_size}] or integers are needed, but "
                f"x.shape={tuple(x.shape)}",
                shape=tuple(x.shape),
            )
        if x.is_complex() and not self.kernel.is_complex():
            raise PrecisionError(
                f"real inputs are needed, but x.dtype={x.dtype}; give the cell a "
                "complex dtype",
                dtype=x.dtype,
            )
        return x.to(self.kernel.dtype) @ self.kernel

    def forward(self, x: Tensor, h: Tensor | None = None) -> Tensor:
        """Return the next state.

        Args:
            x: [..., input_size], or integers [...].
            h: The state before [..., hidden_size]; zero by default.

        Returns:
            [..., hidden_size].

        Raises:
            ShapeError: An extent is wrong.
        """
        z = self.project(x)
        if h is not None:
            if h.shape != z.shape:
                raise ShapeError(
                    f"a state {tuple(z.shape)} is needed, but h.shape={tuple(h.shape)}",
                    shape=tuple(h.shape),
                )
            z = z + h @ self.recurrent
        return modrelu(z, self.bias)

    def extra_repr(self) -> str:
        """Name the sizes."""
        return f"{self.input_size}, {self.hidden_size}"
