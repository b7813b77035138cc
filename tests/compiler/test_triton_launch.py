"""Launches through Triton's own C launcher, over a driver that only listens.

A library that stands for ``libcuda`` prints what a launch passes to the GPU, so the
order of arguments, which changes from release to release, is tested without a GPU.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = """
#include <stdint.h>
#include <stdio.h>
typedef struct {
  unsigned gx, gy, gz, bx, by, bz, shared; void *stream; void *attributes; unsigned n;
} Config;
int cuLaunchKernelEx(Config *c, void *f, void **p, void **e) {
  printf("%u %u %u %u %u %p %p", c->gx, c->gy, c->gz, c->bx, c->shared, c->stream, f);
  for (int i = 0; i < 6; i++) printf(" %llx", (unsigned long long)*(uint64_t *)p[i]);
  printf("\\n");
  fflush(stdout);
  return 0;
}
int cuCtxGetCurrent(void **c) { *c = (void *)1; return 0; }
int cuFuncGetAttribute(int *v, int a, void *f) { *v = 0; return 0; }
"""

CHILD = """
import sys
from types import SimpleNamespace as Facts
import triton
from triton.backends.nvidia import driver
sys.path.insert(0, sys.argv[1])
from compiler import triton_api
if hasattr(driver, "make_launcher"):
    triton_api.prepare_launcher(3, 1)
else:
    active = Facts(utils=driver.CudaUtils(), get_current_stream=lambda device: 85)
    triton.runtime.driver.set_active(active)
facts = dict.fromkeys(("launch_cooperative_grid", "launch_pdl"), False)
for kind in ("global", "profile"):
    facts |= {f"{kind}_scratch_size": 0, f"{kind}_scratch_align": 1}
types = {"a": "*bf16", "b": "*fp32", "c": "*i64", "n": "i64"}
source = Facts(constants={}, signature=types, fn=Facts(arg_names=list(types)))
run = driver.CudaLauncher(source, Facts(num_ctas=1, **facts))
metadata, arguments = (4, 1, 64), (0x1000, 0x2000, 0x3000, 99)
triton_api._c_launch(run, 3840, metadata)(7, 85, arguments)
run(7, 1, 1, 85, 3840, metadata, None, None, None, *arguments)
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_the_short_way_launches_what_tritons_own_way_launches(tmp_path: Path) -> None:
    source = tmp_path / "driver.c"
    source.write_text(DRIVER)
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(tmp_path),
        "TRITON_LIBCUDA_PATH": str(tmp_path),
        "TRITON_CACHE_DIR": str(tmp_path / "cache"),
    }
    root = str(Path(__file__).parents[2])
    for _ in range(30):
        library = str(tmp_path / "libcuda.so.1")
        build = ["gcc", "-shared", "-fPIC", "-o", library, str(source)]
        subprocess.run(build, check=True)
        done = subprocess.run(
            [sys.executable, "-c", CHILD, root],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        lacking = re.search(r"undefined symbol: (\w+)", done.stderr)
        if lacking is None:
            break
        # a function that this release links to and no launch calls
        with source.open("a") as file:
            file.write(f"int {lacking[1]}(void) {{ return 0; }}\n")
    assert done.returncode == 0, done.stderr
    ours, theirs = done.stdout.splitlines()
    assert ours == theirs == "7 1 1 128 64 0x55 0xf00 1000 2000 3000 63 0 0"
