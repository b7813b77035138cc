"""A compiled program in one file, which runs without a compiler.

The file is a zip: the wrapper's text, one library with all kernels, the weights, and
how the text's names are found. It runs where PyTorch has the same version and the
processor the same features; only for the CPU.
"""

import ctypes
import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from compiler import torch_api
from compiler.errors import CompileError
from compiler.ir.kernel import Kernel
from compiler.options import Options
from compiler.runtime.build import load_library, processor
from compiler.runtime.cpp import FLAGS, LIBRARIES
from compiler.runtime.extern import quick
from compiler.runtime.wrapper import RUNTIME, function_of, wrap

from .freeze import freeze


class _Entry:
    """A kernel of the artefact, as the wrapper's writer wants it."""

    def __init__(self, source: Any, function: Any) -> None:
        self.parameters, self.symbols = source.parameters, source.symbols
        self.source = source.text
        self.entry = function

    def __call__(self, *arguments: Any) -> None:
        raise NotImplementedError


def save(
    program: torch.export.ExportedProgram, path: Path, options: Options | None = None
) -> None:
    """Compile an exported program for inference and write it to a file.

    Weights are frozen: what depends on them alone is computed now, and batch
    normalisations are folded into convolutions.

    Args:
        program: In evaluation mode, on the CPU.
        path: File to write.
        options: ``fast_math``, ``threads`` and ``deterministic`` matter.

    Raises:
        CompileError: The program changes its weights, is on another device, or calls
            what cannot be found again by name.
        BuildError: There is no C++ compiler.
    """
    from compiler.codegen.cpp.library import print_kernel
    from compiler.codegen.cpp.prelude import prelude
    from compiler.lower import decompositions, lower
    from compiler.schedule import schedule as plan

    options = options or Options()
    program = program.run_decompositions(decompositions())
    graph, weights, outputs = torch_api.exported_graph(program)
    kept = freeze(graph, weights)
    schedule = plan(lower(graph, options=options), options)
    kernels = [step for step in schedule.steps if isinstance(step, Kernel)]
    sources = {kernel.name: print_kernel(kernel, options) for kernel in kernels}
    text = "\n".join([prelude(options.fast_math), *(s.text for s in sources.values())])
    library = load_library("artefact", text, FLAGS, LIBRARIES)
    entries = {
        name: _Entry(source, getattr(library, source.entry))
        for name, source in sources.items()
    }
    wrapper = wrap(schedule, entries, name="artefact")
    values, recipes = {}, {}
    for name, (kind, value) in wrapper.recipes.items():
        recipes[name] = [kind, None if kind == "value" else value]
        if kind == "value":
            if callable(value) and not isinstance(value, (torch.dtype, torch.device)):
                raise CompileError(
                    f"operators with names were needed, got {value!r}; "
                    "compile it with torch.compile instead"
                )
            values[name] = value
    facts = {
        "torch": torch.__version__,
        "processor": processor(),
        "recipes": recipes,
        "kernels": {
            name: [source.entry, len(source.parameters), len(source.symbols)]
            for name, source in sources.items()
        },
        "weights": list(kept),
        "outputs": outputs,
        "inputs": torch_api.treespec_text(program.call_spec.in_spec),
        "tree": torch_api.treespec_text(program.call_spec.out_spec),
    }
    saved = io.BytesIO()
    torch.save({"weights": list(kept.values()), "values": values}, saved)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("facts.json", json.dumps(facts))
        archive.writestr("wrapper.py", wrapper.source)
        archive.writestr("tensors.pt", saved.getvalue())
        archive.writestr("kernels.so", Path(library._name).read_bytes())


def load(path: Path) -> Callable[..., Any]:
    """Return the function of an artefact; needs no compiler.

    Args:
        path: What :func:`save` wrote. It holds machine code: load what you trust.

    Returns:
        A function of the exported program's arguments.

    Raises:
        CompileError: The file was made for another PyTorch or processor, or is none.
    """
    try:
        archive = zipfile.ZipFile(path)
        facts = json.loads(archive.read("facts.json"))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise CompileError(
            f"a file that save wrote was needed, got {str(path)!r}: {error}"
        ) from error
    for what, here in (("torch", torch.__version__), ("processor", processor())):
        if facts[what] != here:
            raise CompileError(
                f"{str(path)!r} was made for another {what} "
                f"({facts[what][:40]!r}, here {here[:40]!r}); save it again here"
            )
    with tempfile.TemporaryDirectory() as room:
        binary = Path(room) / "kernels.so"
        binary.write_bytes(archive.read("kernels.so"))
        library = ctypes.CDLL(str(binary))
    tensors = torch.load(
        io.BytesIO(archive.read("tensors.pt")), weights_only=False, map_location="cpu"
    )
    names = {
        name: _found(kind, value, library, facts["kernels"])
        for name, (kind, value) in facts["recipes"].items()
        if kind != "value"
    }
    names.update(tensors["values"])
    run = function_of(archive.read("wrapper.py").decode(), names, "artefact")
    weights, outputs = tensors["weights"], facts["outputs"]
    flatten = torch_api.flattener(facts["inputs"])
    build = torch_api.unflattener(facts["tree"])

    def call(*args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            results = run([*weights, *flatten(args, kwargs)])
        return build([results[number] for number in outputs])

    return call


def _found(kind: str, value: str, library: Any, kernels: Any) -> Any:
    if kind == "runtime":
        return RUNTIME[value]
    if kind == "extern":
        return quick(torch_api.overload_of(value))
    entry, pointers, sizes = kernels[value]
    function = getattr(library, entry)
    function.argtypes = [ctypes.c_void_p] * pointers + [ctypes.c_int64] * sizes
    function.restype = ctypes.c_int32
    return function
