"""How the CTAs of a cluster (CGA) share a tensor.

A cluster of 2**k CTAs splits a tensor before anything else does: bit i of the CTA's
number moves by ``bases[i]`` parts of the tensor. A zero basis is a broadcast: two CTAs
hold the same part. Older releases print three lists instead: CTAs, splits and order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from algebra.errors import ArgumentError, EncodingError
from algebra.gauss import rank as rank_of

from .parameters import (
    choice,
    integer,
    integers,
    known_keys,
    permutation,
    powers,
    vectors,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cga:
    """The split of a tensor over the CTAs of a cluster.

    Attributes:
        bases: One vector over the tensor dims for each bit of the CTA's number,
            counted in parts of one CTA. Empty: one CTA, for a tensor of any rank.

    Example:
        >>> Cga.from_split([2, 2], [2, 1], [1, 0])
        Cga(bases=((0, 0), (1, 0)))

    Source: Triton ``CGAEncodingAttr``.
    """

    kind: ClassVar[str] = "cga"
    bases: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        bases = vectors(self.kind, "bases", self.bases, None)
        object.__setattr__(self, "bases", bases)
        columns = []
        for basis in bases:
            column, shift = 0, 0
            for component, bits in zip(basis, self._size_bits(), strict=True):
                column |= component << shift
                shift += bits
            columns.append(column)
        needed = sum(self._size_bits())
        if rank_of(columns) != needed:
            raise EncodingError(
                f"cga needs bases that reach every part of the tensor ({1 << needed} "
                f"parts), got bases={[list(basis) for basis in bases]}; "
                "add the missing powers of two",
                bases=bases,
            )

    @classmethod
    def from_split(
        cls,
        ctas_per_cga: Sequence[int],
        cta_split_num: Sequence[int],
        cta_order: Sequence[int],
    ) -> "Cga":
        """Return the split that the three lists of older releases stand for.

        Args:
            ctas_per_cga: CTAs along each tensor dim.
            cta_split_num: Parts along each tensor dim, at most as many as CTAs; the
                other CTAs hold copies.
            cta_order: Tensor dims, the fastest first.

        Raises:
            EncodingError: lists of different lengths, more parts than CTAs, or an
                order that is not a permutation.
            NotPowerOfTwoError: an entry is not a power of two.
        """
        ctas = powers(cls.kind, "ctas_per_cga", ctas_per_cga)
        rank = len(ctas)
        splits = powers(cls.kind, "cta_split_num", cta_split_num, rank)
        order = permutation(cls.kind, "cta_order", cta_order, rank)
        bases = []
        for dim in order:
            if splits[dim] > ctas[dim]:
                raise EncodingError(
                    "cga needs cta_split_num <= ctas_per_cga in each dim, got "
                    f"cta_split_num={list(splits)}, ctas_per_cga={list(ctas)}; "
                    f"lower the split of dim {dim} to {ctas[dim]}",
                    dim=dim,
                )
            part = 1
            while part < ctas[dim]:
                basis = [0] * rank
                basis[dim] = part if part < splits[dim] else 0
                bases.append(tuple(basis))
                part *= 2
        return cls(bases=tuple(bases))

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> "Cga":
        """Return the split of a golden ``cga`` object.

        Args:
            given: ``bases``, or the three lists, or both if they agree.

        Raises:
            EncodingError: unknown keys, or the two forms contradict each other.
        """
        lists = ("ctas_per_cga", "cta_split_num", "cta_order")
        known_keys(cls.kind, given, ("kind", "bases", *lists))
        present = [name for name in lists if name in given]
        if not present:
            return cls(bases=given.get("bases", ()))
        if len(present) != len(lists):
            raise EncodingError(
                f"cga needs {list(lists)} together, got only {present}; "
                "add the others or give bases alone",
                present=tuple(present),
            )
        split = cls.from_split(*(given[name] for name in lists))
        if "bases" in given and cls(bases=given["bases"]) != split:
            raise EncodingError(
                f"cga needs bases that agree with the three lists, which mean "
                f"{[list(basis) for basis in split.bases]}, "
                f"got bases={given['bases']}; leave one of the two out",
                bases=split.bases,
            )
        return split

    def to_dict(self) -> dict[str, Any]:
        """Return the golden form; ``Cga.from_dict`` is its inverse."""
        return {"bases": [list(basis) for basis in self.bases]}

    def check_rank(self, kind: str, rank: int) -> None:
        """Reject a split of a tensor of another rank.

        Raises:
            EncodingError: the vectors have another length than ``rank``.
        """
        for basis in self.bases:
            integers(kind, "cga", basis, rank)

    def without(self, dim: int) -> "Cga":
        """Return the split in which the parts along ``dim`` are copies."""
        self._check_dim(dim)
        return Cga(
            bases=tuple((*basis[:dim], 0, *basis[dim + 1 :]) for basis in self.bases)
        )

    def drop(self, dim: int) -> "Cga":
        """Return the split of the tensor whose dim ``dim`` is gone."""
        self._check_dim(dim)
        return Cga(
            bases=tuple((*basis[:dim], *basis[dim + 1 :]) for basis in self.bases)
        )

    def split(
        self, shape_bits: Sequence[int]
    ) -> tuple[list[int], tuple[tuple[int, ...], ...]]:
        """Split a tensor.

        Args:
            shape_bits: Exponents of the sizes of the tensor.

        Returns:
            The exponents of the sizes of one CTA's part, and the bases without the
            components that lie outside the tensor.
        """
        if not self.bases:
            return list(shape_bits), ()
        size_bits = self._size_bits()
        shape_bits = integers(self.kind, "shape_bits", shape_bits, len(size_bits))
        limits = [
            bits - min(bits, size)
            for bits, size in zip(shape_bits, size_bits, strict=True)
        ]
        bases = tuple(
            tuple(
                0 if component >> bits else component
                for component, bits in zip(basis, shape_bits, strict=True)
            )
            for basis in self.bases
        )
        return limits, bases

    def _check_dim(self, dim: int) -> None:
        integer(self.kind, "dim", dim)
        for basis in self.bases[:1]:
            choice(self.kind, "dim", dim, range(len(basis)))

    def _size_bits(self) -> list[int]:
        """Return the exponents of the numbers of parts along each tensor dim."""
        components = zip(*self.bases, strict=True)
        return [max(along).bit_length() for along in components]


def check_cga(kind: str, cga: object, rank: int) -> None:
    """Reject what is no ``Cga``, or one for tensors of another rank.

    Args:
        kind: Encoding that the message speaks of.
        cga: What came.
        rank: Number of tensor dims.

    Raises:
        ArgumentError: no ``Cga``.
        EncodingError: the vectors have another length than ``rank``.

    Example:
        >>> check_cga("blocked", Cga(bases=((1, 0),)), 2)
    """
    if not isinstance(cga, Cga):
        raise ArgumentError(
            f"{kind} needs cga to be a Cga, got cga={cga!r} ({type(cga).__name__}); "
            "build one with Cga(bases=...), Cga.from_split or Cga.from_dict",
            argument="cga",
            value=cga,
        )
    cga.check_rank(kind, rank)


ONE_CTA = Cga()
"""No cluster: one CTA holds the whole tensor."""
