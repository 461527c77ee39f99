"""Searches for advice with runs whose outcome is known beforehand."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any

from autoscaler.adapters.default_policy import default_policy_for
from autoscaler.domain.policy.policy import Policy
from autoscaler.simulation.study.advice.trials import Bench
from autoscaler.simulation.study.dates import DAY_S
from autoscaler.simulation.study.outcome import JobTimes, Outcome
from autoscaler.simulation.study.policies import Conditions
from autoscaler.simulation.study.splits import Case, Work
from autoscaler.simulation.study.sweep import Workers
from tests.studies import MODEL, ONE, jobs, work

DEFAULT = default_policy_for(["NVIDIA-A100-SXM4-40GB"])
DAYS = 10
FIXED_S = 1000.0
# How long a job takes under a policy, given its run time, which tells its day; ``None``
# where it never runs.
Takes = Callable[[Policy, float], float | None]


@dataclass
class Oracle(Executor):
    """Knows how long each job takes under each policy."""

    takes_s: Takes
    fixed_s: float | None = FIXED_S
    asked: list[tuple[Case, Policy | None]] = field(default_factory=list)

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Answer for the conditions, case and policy of a run."""
        _, case, policy = args
        self.asked.append((case, policy))
        times = []
        for job in case.present.jobs:
            own_s = self.fixed_s if policy is None else self.takes_s(policy, job.run_s)
            if own_s is None:
                times.append(JobTimes(job))
                continue
            end_s = job.arrival_s + own_s
            times.append(JobTimes(job, end_s - job.run_s, end_s, job.profile))
        future: Future[Any] = Future()
        future.set_result(Outcome("x", tuple(times), 0.0))
        return future


def case_of() -> Case:
    """Return a case in which a job's run time tells its day."""
    rows = [(day * DAY_S + 60, 1.0 + day, ONE) for day in range(DAYS)]
    return Case("tiny", MODEL, 8, 0.5, work((0, 9, ONE)), Work(jobs(*rows), DAYS * DAY_S))


def bench_of(takes_s: Takes, fixed_s: float | None = FIXED_S) -> tuple[Bench, Oracle]:
    """Return a bench with its oracle."""
    oracle = Oracle(takes_s, fixed_s)
    return Bench(DEFAULT, Conditions(DEFAULT), Workers(oracle, 1)), oracle
