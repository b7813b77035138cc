"""What strategies draw as JSON that a person can read, and back."""

from collections.abc import Mapping
from typing import Any

from algebra import AffineLayout, LinearLayout

from .conversions import ConversionCase


def to_json(value: Any) -> Any:
    """Return a drawn value as plain data.

    Law: ``from_json(to_json(value)) == value``.

    Args:
        value: A layout, an encoding with a shape, a conversion, a tensor, a program, or
            lists, dicts, numbers and text of them.

    Raises:
        TypeError: Nothing readable is known for the type.

    Example:
        >>> to_json(LinearLayout.identity_1d(2, "lane", "dim0"))["bases"]
        {'lane': [[1]]}
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, LinearLayout):
        bases = {name: [list(b) for b in bs] for name, bs in value.bases.items()}
        return {"type": "layout", "bases": bases, "out_dims": dict(value.out_dims)}
    if isinstance(value, AffineLayout):
        linear = to_json(value.linear)
        return {"type": "affine", "linear": linear, "offset": dict(value.offset)}
    if isinstance(value, ConversionCase):
        return {
            "type": "conversion",
            "src": to_json(value.src),
            "dst": to_json(value.dst),
            "element_bits": value.element_bits,
        }
    if isinstance(value, list | tuple):
        items = [to_json(item) for item in value]
        return items if isinstance(value, list) else {"type": "tuple", "items": items}
    if isinstance(value, dict):
        pairs = {str(key): to_json(item) for key, item in value.items()}
        return {"type": "dict", "items": pairs}
    name = type(value).__name__
    if name == "Program":
        from verify.campaign.case import Case

        return {"type": "program", "case": Case(value, "eager").to_json()}
    if name == "TensorSpec":
        from dataclasses import asdict

        dtype = str(value.dtype).removeprefix("torch.")
        return {"type": "tensor", **asdict(value), "dtype": dtype}
    if hasattr(value, "encoding") and hasattr(value, "shape"):
        shape = list(value.shape)
        return {"type": "encoding", "encoding": value.encoding, "shape": shape}
    if hasattr(value, "conversion"):
        return {"type": "kernel", "conversion": value.conversion.to_dict()}
    raise TypeError(
        f"a layout, encoding, conversion, tensor or program was needed, got a {name}; "
        "draw it inside of the test instead"
    )


def from_json(data: Any) -> Any:
    """Return the value that :func:`to_json` wrote.

    Raises:
        KeyError: A part is missing.
        ValueError: The type is not known.
    """
    if isinstance(data, list):
        return [from_json(item) for item in data]
    if not isinstance(data, Mapping):
        return data
    kind = data["type"]
    if kind == "layout":
        bases = {
            name: [tuple(b) for b in vectors] for name, vectors in data["bases"].items()
        }
        return LinearLayout.from_bases(
            bases, dict(data["out_dims"]), require_surjective=False
        )
    if kind == "affine":
        return AffineLayout(from_json(data["linear"]), dict(data["offset"]))
    if kind == "conversion":
        return ConversionCase(
            from_json(data["src"]), from_json(data["dst"]), data["element_bits"]
        )
    if kind == "tuple":
        return tuple(from_json(item) for item in data["items"])
    if kind == "dict":
        return {key: from_json(item) for key, item in data["items"].items()}
    if kind == "program":
        from verify.campaign.case import from_json as case_from_json

        return case_from_json(data["case"]).program
    if kind == "tensor":
        from verify.campaign.case import spec_from_json

        return spec_from_json({k: v for k, v in data.items() if k != "type"})
    if kind == "encoding":
        from verify.oracle.random_encodings import Case

        return Case(dict(data["encoding"]), tuple(data["shape"]))
    if kind == "kernel":
        from verify.ptx.random_conversions import conversion_from_dict

        from .encodings import KernelCase

        return KernelCase(conversion_from_dict(dict(data["conversion"])))
    raise ValueError(f"a type that to_json writes was needed, got type={kind!r}")
