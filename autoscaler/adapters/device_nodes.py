"""Device nodes of GPU instances, made by NVIDIA's own tools on the host.

An instance that NVML has just created can be given to a container only when its device
nodes exist and the description of devices names them. The tools that see to both differ
from host to host, so they are commands to be set.
"""

import subprocess
from dataclasses import dataclass
from shlex import join

from autoscaler.domain.errors import Refused, Unavailable

OUTPUT_LINES = 3


@dataclass(frozen=True, slots=True)
class DeviceNodes:
    """Runs commands one after the other, each to its end.

    Parameters
    ----------
    commands
        Program and arguments, e.g. ``("chroot", "/host", "nvidia-smi", "-L")``, which
        makes the device nodes, and then the generation of a CDI specification.
    timeout_s
        Most time one command may take.
    """

    commands: tuple[tuple[str, ...], ...]
    timeout_s: float = 60.0

    def __call__(self) -> None:
        """Run them all; Unavailable when one fails, Refused when it is not there."""
        for command in self.commands:
            self._run(command)

    def _run(self, command: tuple[str, ...]) -> None:
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=self.timeout_s, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise Unavailable(f"{join(command)} takes over {self.timeout_s:g} s") from error
        except OSError as error:
            raise Refused(f"{join(command)} cannot be run: {error.strerror}") from error
        if done.returncode:
            said = " | ".join(done.stderr.strip().splitlines()[-OUTPUT_LINES:])
            raise Unavailable(f"{join(command)} ended with {done.returncode}: {said}")
