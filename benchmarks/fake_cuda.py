"""A CUDA device that is not there: tensors without data on ``"cuda"``, graphs captured.

PyTorch built for a CPU refuses to name a CUDA device, even where no kernel would run.
``load`` builds a small library that registers a device guard and hooks that do nothing;
with them, fake tensors on ``"cuda"`` can be traced forward and backward. It must be
called before torch is imported for the first time, and for nothing but tracing.
"""

import contextlib
import ctypes
import hashlib
import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import fx

SOURCE = """
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace {

const c10::Device device(c10::DeviceType::CUDA, 0);

c10::Stream stream() { return c10::Stream(c10::Stream::DEFAULT, device); }

struct Guard : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::CUDA> {
  using Index = c10::DeviceIndex;
  c10::Device getDevice() const override { return device; }
  c10::Device exchangeDevice(c10::Device) const override { return device; }
  c10::Stream getStream(c10::Device) const noexcept override { return stream(); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream(); }
  c10::Stream getNewStream(c10::Device, int = 0) const override { return stream(); }
  c10::Stream exchangeStream(c10::Stream) const noexcept override { return stream(); }
  void record(void**, const c10::Stream&, const Index, const c10::EventFlag)
      const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override {}
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
};

Guard guard;
c10::impl::DeviceGuardImplRegistrar registrar(c10::DeviceType::CUDA, &guard);

struct CUDAHooks : at::CUDAHooksInterface {
  explicit CUDAHooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool isBuilt() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  c10::DeviceIndex deviceCount() const override { return 1; }
};

using at::CUDAHooksRegistry;
using at::RegistererCUDAHooksRegistry;
REGISTER_CUDA_HOOKS(CUDAHooks)

}  // namespace
"""


def load() -> None:
    """Register the device.

    Raises:
        RuntimeError: torch was imported before, or the library cannot be built.
    """
    if "torch" in sys.modules:
        raise RuntimeError("needed to load before torch is imported, it is there")
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise RuntimeError("needed torch, found none: install it")
    folder = Path(spec.origin).parent
    key = hashlib.sha256((SOURCE + str(folder)).encode()).hexdigest()[:16]
    library = Path(tempfile.gettempdir()) / f"fake_cuda_{key}.so"
    if not library.exists():
        with tempfile.TemporaryDirectory() as scratch:
            source, made = Path(scratch) / "fake.cpp", Path(scratch) / "fake.so"
            source.write_text(SOURCE)
            command = ["g++", "-std=c++20", "-shared", "-fPIC", str(source)]
            command += [f"-I{folder}/include", f"-L{folder}/lib"]
            command += ["-lc10", "-ltorch_cpu", "-o", str(made)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"g++ refused: {done.stderr[-500:]}")
            partial = library.with_suffix(".part")
            partial.write_bytes(made.read_bytes())
            partial.rename(library)
    for name in ("libc10.so", "libtorch_cpu.so"):
        ctypes.CDLL(str(folder / "lib" / name), mode=ctypes.RTLD_GLOBAL)
    ctypes.CDLL(str(library))


def graphs(
    make: Callable[[], Any],
    batch: Callable[[], dict[str, Any]],
    *,
    training: bool = False,
    half: bool = False,
    device: str = "cuda",
) -> "list[tuple[str, fx.GraphModule, Sequence[Any]]]":
    """Return what our backend gets to compile: name, graph, fake inputs.

    Args:
        make: Returns a model; it is called where tensors have no data.
        batch: Returns its named arguments.
        training: Forward and backward of the sum of its outputs.
        half: Under bfloat16 autocast.
        device: ``"cuda"`` or ``"cpu"``.
    """
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    from benchmarks.model_zoo import tensors_of
    from benchmarks.pretended_gpu import pretended
    from compiler import torch_api
    from compiler.frontend.identities import without_identities
    from compiler.frontend.masks import without_idle_masks
    from compiler.frontend.saved import mark_given
    from compiler.lower import FUSED, JOINT_REWRITES, decompositions

    found: list[Any] = []

    def keep(name: str) -> Any:
        def compiler(graph: Any, inputs: Sequence[Any]) -> Any:
            if name == "forward":
                _lay_out(graph)
            elif name == "backward":
                mark_given(graph, inputs)
            found.append((name, graph, list(inputs)))
            forward: Any = graph.forward
            return torch_api.boxed(lambda args: forward(*args))

        return compiler

    def backend(graph: Any, inputs: Sequence[Any]) -> Any:
        without_identities(graph)
        without_idle_masks(graph)
        return torch_api.differentiate(
            graph,
            inputs,
            forward=keep("forward"),
            backward=keep("backward"),
            inference=keep("inference"),
            decompositions=decompositions(),
            joint=JOINT_REWRITES,
            fused=FUSED,
        )

    torch_api.reset()
    with torch.device("meta"):
        model = make()
    # where no device is available, autocast is switched off with a warning
    answers = pretended() if device == "cuda" else contextlib.nullcontext()
    with answers, FakeTensorMode(allow_non_fake_inputs=True), torch.device(device):
        _without_data(model, device)
        model = model.train() if training else model.eval()
        arguments = batch()
        compiled: Any = torch.compile(model, backend=backend)
        with (
            torch.set_grad_enabled(training),
            torch.autocast(device, torch.bfloat16, enabled=half),
        ):
            outputs = tensors_of(compiled(**arguments))
        if training:
            total = sum(
                (o.float().sum() for o in outputs if o.requires_grad),
                start=torch.zeros((), device=device),
            )
            total.backward()
    return found


def _lay_out(graph: "fx.GraphModule") -> None:
    """Decide on the strides of what a forward graph keeps, as when it is compiled."""
    import copy

    from compiler.frontend.constants import lift_constants
    from compiler.frontend.saved import mark_saved, report_strides
    from compiler.lower import REWRITES, lower
    from compiler.schedule import schedule

    mark_saved(graph)
    own = copy.deepcopy(graph)
    own.meta = dict(graph.meta)
    lift_constants(own)
    for rewrite in REWRITES:
        rewrite(own)
    report_strides(schedule(lower(own)), graph)


def _without_data(model: Any, device: str) -> None:
    """Move a model from the device ``"meta"`` to another one, without data."""
    import torch

    moved: dict[int, Any] = {}

    def fake(tensor: Any) -> Any:
        if id(tensor) not in moved:
            made = torch.empty_strided(
                tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device
            )
            if isinstance(tensor, torch.nn.Parameter):
                made = torch.nn.Parameter(made, tensor.requires_grad)
            moved[id(tensor)] = made
        return moved[id(tensor)]

    for module in model.modules():
        for held in (module._parameters, module._buffers):
            for name, tensor in list(held.items()):
                if tensor is not None:
                    held[name] = fake(tensor)
