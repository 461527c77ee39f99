"""What past rollouts were and did; gate, back-off and people read it."""

from dataclasses import dataclass

from autoscaler.domain.journal.rollout import Result


@dataclass(frozen=True, slots=True)
class RolloutRecord:
    """One rollout that is over.

    Parameters
    ----------
    node, pool
        Where it was.
    started_at_s, ended_at_s
        From the cordon to the last write, epoch seconds.
    result, message
        How it ended, and a sentence for people.
    plan, rollout
        Ids of the plan and of the rollout.
    before, after
        Configuration names of the layouts it went from and to.
    gain, cost
        What the plan promised, in slice-seconds.
    serves
        Pods it was for, ``namespace/name``.
    served
        How many of these had left the queue some time after; ``None`` not yet measured.
    gpus
        Indexes of the GPUs it re-cut; empty where that was not recorded.
    refused
        Whether MIG manager tried to make the layout and said that it failed.
    """

    node: str
    started_at_s: float
    ended_at_s: float
    result: Result
    plan: str = ""
    rollout: str = ""
    pool: str = ""
    message: str = ""
    before: str = ""
    after: str = ""
    gain: float = 0.0
    cost: float = 0.0
    serves: tuple[str, ...] = ()
    served: int | None = None
    gpus: tuple[int, ...] = ()
    refused: bool = False

    @property
    def duration_s(self) -> float:
        """Seconds the node was closed."""
        return self.ended_at_s - self.started_at_s
