"""The TTGIR text of a kernel that converts a tensor from one encoding to another."""

from collections.abc import Sequence

_MODULE = """\
#src = {src}
#dst = {dst}
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = {warps} : i32, \
ttg.target = "cuda:{arch}", "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @conversion(%in: !tt.ptr<{element}> {{tt.divisibility = 16 : i32}}, \
%out: !tt.ptr<{element}> {{tt.divisibility = 16 : i32}}) {{
{body}
    tt.return
  }}
}}
"""


def conversion_kernel(
    src: str,
    dst: str,
    shape: Sequence[int],
    element_bits: int,
    warps: int,
    arch: int = 90,
) -> str:
    """Return a kernel: load through ``src``, convert, store through ``dst``.

    Input and output are the tensor in row-major order.

    Args:
        src: Encoding as a TTGIR attribute.
        dst: Likewise.
        shape: Of the tensor [elements].
        element_bits: Width of an element; 8, 16, 32 or 64 [bits].
        warps: Warps of the CTA [warps].
        arch: Compute capability times ten.

    Example:
        >>> text = conversion_kernel("#ttg.a<{}>", "#ttg.b<{}>", [8, 4], 16, 4)
        >>> [line.strip()[:34] for line in text.splitlines() if "layout" in line]
        ['%12 = ttg.convert_layout %11 : ten']
    """
    body = _Body(tuple(shape), f"i{element_bits}")
    pointers = body.pointers("%in", "#src")
    element = body.element
    kept = body.type("#src", element)
    value = body.let(f"tt.load {pointers} : {body.type('#src', body.pointer)}")
    moved = body.let(
        f"ttg.convert_layout {value} : {kept} -> {body.type('#dst', element)}"
    )
    target = body.pointers("%out", "#dst")
    body.lines.append(
        f"    tt.store {target}, {moved} : {body.type('#dst', body.pointer)}"
    )
    return _MODULE.format(
        src=src,
        dst=dst,
        warps=warps,
        arch=arch,
        element=element,
        body="\n".join(body.lines),
    )


class _Body:
    """Lines of a function, with a name for each value."""

    def __init__(self, shape: tuple[int, ...], element: str) -> None:
        self.shape = shape
        self.element = element
        self.pointer = f"!tt.ptr<{element}>"
        self.lines: list[str] = []

    def let(self, operation: str) -> str:
        name = f"%{len(self.lines)}"
        self.lines.append(f"    {name} = {operation}")
        return name

    def type(
        self, layout: str, element: str, shape: tuple[int, ...] | None = None
    ) -> str:
        sizes = "x".join(map(str, self.shape if shape is None else shape))
        return f"tensor<{sizes}x{element}, {layout}>"

    def pointers(self, argument: str, layout: str) -> str:
        """Return pointers to the elements at their row-major places."""
        total, stride = "", 1
        for dim in reversed(range(len(self.shape))):
            place = self._coordinate(dim, layout, stride)
            kind = self.type(layout, "i32")
            total = (
                self.let(f"arith.addi {total}, {place} : {kind}") if total else place
            )
            stride *= self.shape[dim]
        kind = self.type(layout, self.pointer)
        base = self.let(f"tt.splat {argument} : {self.pointer} -> {kind}")
        offsets = self.type(layout, "i32")
        return self.let(f"tt.addptr {base}, {total} : {kind}, {offsets}")

    def _coordinate(self, dim: int, layout: str, stride: int) -> str:
        """Return one coordinate of each element, times its stride."""
        nested = [layout]
        for other in reversed(range(len(self.shape))):
            if other != dim:
                nested.append(f"#ttg.slice<{{dim = {other}, parent = {nested[-1]}}}>")
        size = self.shape[dim]
        shape: tuple[int, ...] = (size,)
        kind = self.type(nested[-1], "i32", shape)
        value = self.let(
            f"tt.make_range {{end = {size} : i32, start = 0 : i32}} : {kind}"
        )
        for axis in range(len(self.shape)):
            if axis == dim:
                continue
            nested.pop()
            shape = (*shape[:axis], 1, *shape[axis:])
            wider = self.type(nested[-1], "i32", shape)
            value = self.let(
                f"tt.expand_dims {value} {{axis = {axis} : i32}} : {kind} -> {wider}"
            )
            kind = wider
        if stride > 1:
            factor = self.let(f"arith.constant dense<{stride}> : {kind}")
            value = self.let(f"arith.muli {value}, {factor} : {kind}")
        if shape != self.shape:
            whole = self.type(layout, "i32")
            value = self.let(f"tt.broadcast {value} : {kind} -> {whole}")
        return value
