"""What a user can ask of the fusing compiler."""

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from compiler.errors import OptionError

MODES: Final = (
    "default",
    "reduce-overhead",
    "max-autotune",
    "max-autotune-no-cudagraphs",
)
"""Names that ``torch.compile(mode=...)`` knows."""

EPILOGUES: Final = ("off", "measured", "always")
"""Where what reads a product of matrices is computed in the product's own kernel."""

LAYOUTS: Final = ("triton", "assigned")
"""Who chooses the layouts of kernels whose accesses lie across each other."""


@dataclass(frozen=True, slots=True)
class Options:
    """Choices of one compilation.

    Attributes:
        mode: One of :data:`MODES`. ``"reduce-overhead"`` records CUDA graphs,
            ``"max-autotune"`` tries more configurations and records them too.
        certify: Discharge each kernel's obligations; a refuted kernel never runs.
            ``"ttir"``: the Triton text of each kernel is proved as well, whatever it
            was printed from.
        trace: Folder for readable folders, one a graph; None: none is written.
        deterministic: Bitwise equal results from run to run, and for an element of a
            batch whatever the batch's size: no float atomics, no split reductions
            that depend on a size.
        fallback: Run by PyTorch's own operators what cannot be compiled; otherwise
            raise.
        eager_parity: Draw eager mode's random numbers.
        fast_math: Allow vector functions that are off by up to 4 ulp.
        lower: Compile at all; False runs each operator by PyTorch, to tell faults of
            the capture from faults of the compiler.
        threads: Threads of CPU kernels; None: as many as torch uses.
        cache: Keep compiled graphs on disk, and use what is kept there.
        freeze: For inference: what depends on parameters and buffers alone is computed
            once, and normalisations are folded into convolutions.
        product_epilogues: Whether a kernel of ours does a product of half-precision
            matrices on a GPU together with what reads it element by element, in place
            of the library and a second kernel: ``"measured"`` where a measurement
            says that it is faster, ``"always"`` wherever it can, ``"off"`` nowhere.
        layouts: Who chooses the layouts of a kernel on a GPU whose accesses ask for
            different ones (transposed reads, sums across rows): ``"triton"``, or
            ``"assigned"`` for ``compiler.assign`` wherever tile graphs can express it.
            Where many configurations are timed, Triton's are among them.
    """

    mode: str = "default"
    certify: bool | str = False
    trace: str | None = None
    deterministic: bool = False
    fallback: bool = True
    eager_parity: bool = False
    fast_math: bool = True
    lower: bool = True
    threads: int | None = None
    cache: bool = True
    freeze: bool = False
    product_epilogues: str = "measured"
    layouts: str = "triton"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise OptionError(
                f"mode must be one of {', '.join(MODES)}, got mode={self.mode!r}"
            )
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is bool and not isinstance(value, bool):
                raise OptionError(
                    f"{field.name} must be True or False, got {field.name}={value!r}"
                )
        if not isinstance(self.certify, bool) and self.certify != "ttir":
            raise OptionError(
                f'certify must be True, False or "ttir", got certify={self.certify!r}'
            )
        if self.product_epilogues not in EPILOGUES:
            raise OptionError(
                f"product_epilogues must be one of {', '.join(EPILOGUES)}, "
                f"got product_epilogues={self.product_epilogues!r}"
            )
        if self.layouts not in LAYOUTS:
            raise OptionError(
                f"layouts must be one of {', '.join(LAYOUTS)}, "
                f"got layouts={self.layouts!r}"
            )
        if self.threads is not None and self.threads < 1:
            raise OptionError(
                f"threads must be at least 1, got threads={self.threads}; "
                "leave it out to use torch's number"
            )

    @property
    def graphs(self) -> bool:
        """Whether CUDA graphs are recorded."""
        return self.mode in ("reduce-overhead", "max-autotune")

    @property
    def autotune(self) -> bool:
        """Whether many configurations of a kernel are timed."""
        return self.mode.startswith("max-autotune")

    @classmethod
    def of(
        cls, mode: str | None = None, options: Mapping[str, Any] | None = None
    ) -> "Options":
        """Return the options that ``torch.compile(mode=..., options=...)`` names.

        A trace folder comes from ``$TILEWRIGHT_TRACE`` where no option names one.

        Args:
            mode: Shorthand for ``{"mode": mode}``.
            options: Attribute -> value.

        Raises:
            OptionError: A name or a value is unknown.

        Example:
            >>> Options.of(options={"certify": True}).certify
            True
        """
        given = dict(options or {})
        known = [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise OptionError(
                    f"options must be among {', '.join(known)}, got {name!r}{hint}"
                )
        if mode is not None:
            given.setdefault("mode", mode)
        trace = os.environ.get("TILEWRIGHT_TRACE")
        if trace:
            given.setdefault("trace", trace)
        return cls(**given)
