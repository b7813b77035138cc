"""Build the wheel, install it into a clean environment, and use it from elsewhere.

The environment sees the dependencies of .venv through one .pth line, so nothing is
downloaded. Whatever git knows inside the packages must be in the wheel, and nothing
but the packages may be.
"""

import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("algebra", "compiler", "verify", "proofs", "manifolds", "tilewright")
IMPORTS = f"""\
import importlib
for name in {PACKAGES!r}:
    origin = importlib.import_module(name).__file__
    if "clean-venv" not in origin:
        raise SystemExit(f"{{name}} came from {{origin}}, not from the wheel")
"""


def call(*command: str | Path, cwd: Path) -> str:
    """Run ``command``; return what it printed, or end with it when it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(
            f"{' '.join(map(str, command))} gave exit code {done.returncode}\n"
            f"{done.stdout}{done.stderr}"
        )
    return done.stdout


def build(folder: Path) -> Path:
    """Build the wheel of this checkout into ``folder``."""
    shutil.rmtree(ROOT / "build", ignore_errors=True)
    pip = (sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "--no-index")
    call(*pip, "--no-build-isolation", "-w", folder, ".", cwd=ROOT)
    shutil.rmtree(ROOT / "build", ignore_errors=True)
    (wheel,) = folder.glob("tilewright-*.whl")
    return wheel


def check_contents(wheel: Path) -> None:
    """Compare the wheel's files with the committed files of the packages."""
    shipped = {
        name
        for name in zipfile.ZipFile(wheel).namelist()
        if not name.split("/")[0].endswith(".dist-info")
    }
    listing = call("git", "ls-files", "-z", "--", *PACKAGES, cwd=ROOT)
    committed = {name for name in listing.split("\0") if name}
    if missing := sorted(committed - shipped):
        sys.exit(f"not in the wheel, see package-data in pyproject.toml: {missing}")
    if foreign := sorted(n for n in shipped if n.split("/")[0] not in PACKAGES):
        sys.exit(f"in the wheel but in none of the packages: {foreign}")


def install(wheel: Path, folder: Path) -> Path:
    """Install ``wheel`` into a new environment; return its folder of commands."""
    venv = folder / "clean-venv"
    call(sys.executable, "-m", "venv", "--without-pip", venv, cwd=folder)
    python = venv / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "-qq")
    call(*pip, "--no-deps", "--no-index", wheel, cwd=folder)
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return venv / "bin"


def main() -> None:
    """Build, look inside, install, import and run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        wheel = build(folder)
        check_contents(wheel)
        commands = install(wheel, folder)
        call(commands / "python", "-c", IMPORTS, cwd=folder)
        call(commands / "tilewright", "--help", cwd=folder)
        print(f"{wheel.name}: contents, imports and command are good")


if __name__ == "__main__":
    main()
