"""The policy in force while the loop runs: a watched file, or the default one."""

from collections.abc import Iterator

from autoscaler.adapters.default_policy import default_policy_for, default_policy_in
from autoscaler.adapters.policy_file import PolicyWatcher, load_policy
from autoscaler.domain.cluster.objects import Observation
from autoscaler.domain.policy.policy import Mode, Policy


class PolicySource:
    """Knows the policy; a bad edit never replaces a good one.

    Raises
    ------
    ConfigError
        On construction, when the file is wrong from the start.
    """

    def __init__(self, path: str | None, mode: Mode | None = None) -> None:
        self.warnings: tuple[str, ...] = ()
        self._mode = mode
        self._watcher: PolicyWatcher | None = None
        self._policy = default_policy_for(())
        if path is not None:
            loaded = load_policy(path)
            self.warnings = loaded.warnings
            self._watcher = PolicyWatcher(path, loaded)
            self._policy = loaded.policy

    @property
    def is_given(self) -> bool:
        """Whether a file was named."""
        return self._watcher is not None

    @property
    def error(self) -> str | None:
        """What is wrong with the file as it is now; ``None`` when nothing is."""
        return None if self._watcher is None else self._watcher.error

    def current(self) -> Policy:
        """Return the policy in force, in the mode that the command line asked for."""
        if self._mode is None:
            return self._policy
        return self._policy.model_copy(update={"mode": self._mode})

    def poll(self) -> Iterator[tuple[bool, str]]:
        """Look at the file; yield what is new, and whether it is good."""
        if self._watcher is None:
            return
        loaded = self._watcher.poll()
        if loaded is not None:
            self._policy, self.warnings = loaded.policy, loaded.warnings
            yield True, f"policy {loaded.policy.metadata.name} is in force"
        error = self._watcher.take_error()
        if error is not None:
            yield False, error

    def follow(self, observation: Observation) -> bool:
        """Give the default policy a pool for each product; say whether that changed it."""
        if self._watcher is not None:
            return False
        policy = default_policy_in(observation)
        changed = policy != self._policy
        self._policy = policy
        return changed
