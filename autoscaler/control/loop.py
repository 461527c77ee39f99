"""The loop: one cycle after another, for as long as somebody calls it.

When to call is the caller's business: a timer in a cluster, the engine in a
simulation. It never ends by itself, and a policy may change between two cycles.
"""

from collections.abc import Callable

from autoscaler.control.cycle import run_cycle
from autoscaler.control.leadership import Leadership
from autoscaler.control.memory import FRESH, CycleMemory
from autoscaler.control.outcome import CycleOutcome
from autoscaler.control.outside import Outside
from autoscaler.control.setting import Setting, leadership_for
from autoscaler.domain.policy.policy import Mode, Policy
from autoscaler.planning.program.settlements import Settlements
from autoscaler.ports import Recorder


class Loop:
    """Runs cycles of one replica and remembers what the next one needs.

    Parameters
    ----------
    policy
        Returns the policy in force.
    recorder
        Is told of every cycle; ``None`` for nobody.
    is_patient
        Whether a proposal must persist before it starts.
    """

    def __init__(
        self,
        outside: Outside,
        policy: Callable[[], Policy],
        *,
        recorder: Recorder | None = None,
        is_patient: bool = True,
    ) -> None:
        self._outside = outside
        self._policy = policy
        self._recorder = recorder
        self._is_patient = is_patient
        self._memory: CycleMemory = FRESH
        self._leadership: Leadership | None = None
        self._contest: tuple[Mode, float] | None = None
        self._settlements = Settlements()

    def step(self) -> CycleOutcome:
        """Run one cycle."""
        policy = self._policy()
        self._contend(policy)
        setting = Setting(
            self._outside,
            policy,
            self._leadership,
            self._is_patient,
            settle=self._settlements.settle,
        )
        outcome = run_cycle(setting, self._memory, self._outside.clock.now_s())
        self._memory = outcome.memory
        if self._recorder is not None:
            self._recorder.record_cycle(outcome, log_fields(outcome, policy))
        return outcome

    def close(self) -> None:
        """Give the Lease up; open rollouts stay on their nodes for whoever is next."""
        if self._leadership is not None:
            self._leadership.release()
            self._leadership = None
        self._contest = None

    def _contend(self, policy: Policy) -> None:
        """Contend for the Lease of the mode, which must outlast some cycles.

        An edit of the policy may change both.
        """
        contest = (policy.mode, policy.loop.interval_s)
        if contest == self._contest:
            return
        self.close()
        self._leadership = leadership_for(self._outside, policy)
        self._contest = contest


def log_fields(outcome: CycleOutcome, policy: Policy) -> tuple[tuple[str, object], ...]:
    """Return the fields of the one log line of a cycle."""
    view, plan = outcome.view, outcome.plan
    return (
        ("decision", outcome.decision.value),
        ("mode", policy.mode.value),
        ("leader", outcome.standing.is_leader),
        ("plan", None if plan is None else plan.id),
        ("changes", 0 if plan is None else len(plan.changes)),
        ("rollouts", len(outcome.journals)),
        ("ended", len(outcome.records)),
        ("holds", 0 if view is None else len(view.snapshot.holds)),
        ("gap", "" if view is None else view.metrics_gap),
        ("errors", len(outcome.errors)),
        ("duration_s", round(outcome.ended_s - outcome.started_s, 3)),
    )
