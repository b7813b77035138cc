"""How an access to shared memory is made of instructions."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction of a store or a load, and how often it runs.

    Attributes:
        name: ``"st.shared"``, ``"stmatrix"``, ``"ld.shared"``, ``"ldmatrix"``, the
            matrix forms perhaps with ``".trans"``.
        vector: Elements of one instruction and lane [elements].
        vector_bits: Their size [bits].
        count: Instructions of one repetition.
        wavefronts: Wavefronts of one repetition and warp.
        conflicts: Extra wavefronts of one row of lanes; 0 = none.
    """

    name: str
    vector: int
    vector_bits: int
    count: int
    wavefronts: int
    conflicts: int

    @property
    def is_matrix(self) -> bool:
        """Whether it's ``ldmatrix`` or ``stmatrix``."""
        return "matrix" in self.name

    @property
    def spelling(self) -> str:
        """The instruction as PTX spells it, without types of registers."""
        if self.is_matrix:
            matrices = self.vector_bits // 32
            form = ".trans" if self.name.endswith(".trans") else ""
            return f"{self.name.removesuffix('.trans')}.x{matrices}{form}"
        width = min(self.vector_bits, 32)
        words = self.vector_bits // width
        vector = f"v{words}." if words > 1 else ""
        return f"{self.name}.{vector}b{width}"
