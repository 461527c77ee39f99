"""The demo as JSON: everything that was shown, and all that it was computed from.

Nothing in it depends on the machine: the same seed gives the same bytes.
"""

from collections.abc import Iterable, Mapping, Sequence

from autoscaler.cli.demo_policy import policy_text
from autoscaler.cli.demo_run import AGENT, AutoscaledRun, Rehearsal
from autoscaler.cli.moment import moment_text
from autoscaler.domain.counts import Counts
from autoscaler.domain.plan.plan_json import plan_to_json
from autoscaler.simulation.demo.comparison import Row
from autoscaler.simulation.demo.run_record import BoardRecord, ChangeRecord, RunRecord
from autoscaler.simulation.demo.scenario import Scenario
from autoscaler.simulation.figures import PodTimes, Sample
from autoscaler.simulation.traces import Hours, Load

API_VERSION = "mig-autoscaler.io/v1alpha1"
KIND = "DemoReport"
Json = dict[str, object]


def demo_document(
    scenario: Scenario,
    alone: RunRecord,
    run: AutoscaledRun,
    rows: Sequence[Row],
    factors: Sequence[tuple[str, str]],
) -> Json:
    """Return the document; times of runs are seconds from ``startsAt``."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "startsAt": moment_text(alone.start_s),
        "durationSeconds": alone.end_s - alone.start_s,
        "factors": dict(factors),
        "scenario": scenario_json(scenario),
        "policy": policy_text(scenario),
        "dryRun": rehearsal_json(run.rehearsal),
        "autoFrom": seconds(run.opened_s, alone.start_s),
        "table": [
            {
                "figure": row.figure,
                "unit": row.unit,
                "alone": row.alone,
                "autoscaled": row.autoscaled,
            }
            for row in rows
        ],
        "changes": [change_json(change, alone.start_s) for change in run.changes],
        "runs": {"alone": run_json(alone), "autoscaled": run_json(run.record)},
        "faults": list(run.faults),
        "requestLog": {
            "userAgent": AGENT,
            "dropped": run.dropped,
            "requests": [entry.as_json() for entry in run.requests],
        },
    }


def scenario_json(scenario: Scenario) -> Json:
    """Return what the run depends on, as values."""
    settings, choice = scenario.settings, scenario.settings.choice
    return {
        "seed": settings.seed,
        "nodes": settings.nodes,
        "gpusPerNode": settings.gpus,
        "gpusInUse": settings.gpus_in_use,
        "model": settings.model,
        "load": settings.load,
        "rule": choice.rule.value,
        "present": hours_json(choice.present),
        "past": hours_json(choice.past),
        "jobSeconds": {"least": choice.shortest_s, "most": choice.longest_s},
        "arrivals": load_json(scenario.load),
        "pastArrivals": [load_json(load) for load in scenario.past],
        "tasks": len(scenario.tasks),
        "startingMix": dict(scenario.mix.instances),
    }


def hours_json(hours: Hours) -> Json:
    """Return hours of days of the trace."""
    return {
        "days": [hours.first_day, hours.last_day],
        "hours": [hours.start_h, hours.end_h],
    }


def load_json(load: Load) -> Json:
    """Return what a load was drawn from and came to, in slice-seconds."""
    return {
        "candidates": load.candidates,
        "arrivals": len(load.arrivals),
        "offered": load.offered,
        "target": load.target,
    }


def rehearsal_json(rehearsal: Rehearsal) -> Json:
    """Return the dry run; how long the solver took is left out, as it never repeats."""
    plan = plan_to_json(rehearsal.proposal.plan)
    optimality = plan["optimality"]
    if isinstance(optimality, dict):
        plan["optimality"] = {k: v for k, v in optimality.items() if k != "seconds"}
    return {
        "at": moment_text(rehearsal.at_s),
        "plan": plan,
        "requests": rehearsal.requests,
        "mutatingRequests": rehearsal.mutating,
    }


def change_json(change: ChangeRecord, start_s: float) -> Json:
    """Return one change of a node."""
    record, journal = change.record, change.journal
    return {
        "id": record.rollout,
        "plan": record.plan,
        "node": record.node,
        "started": seconds(record.started_at_s, start_s),
        "ended": seconds(record.ended_at_s, start_s),
        "result": record.result.value,
        "message": record.message,
        "configName": journal.target.config_name,
        "gpus": [
            {
                "index": index,
                "before": counts_json(journal.before.gpus[index]),
                "after": counts_json(journal.target.gpus[index]),
            }
            for index in journal.gpus
        ],
        "serves": list(record.serves),
        "gain": record.gain,
        "cost": record.cost,
    }


def run_json(run: RunRecord) -> Json:
    """Return one run."""
    return {
        "servedSliceSeconds": round(run.served, 3),
        "pods": [pod_json(pod, run.start_s) for pod in run.pods],
        "queue": samples_json(run.queue, run.start_s),
        "running": samples_json(run.running, run.start_s),
        "before": boards_json(run.before),
        "after": boards_json(run.after),
    }


def pod_json(pod: PodTimes, start_s: float) -> Json:
    """Return the life of one pod."""
    return {
        "name": pod.name,
        "task": pod.task,
        "requests": dict(pod.requests),
        "node": pod.node,
        "submitted": seconds(pod.submitted_s, start_s),
        "started": seconds(pod.started_s, start_s),
        "ended": seconds(pod.ended_s, start_s),
        "outcome": pod.outcome,
    }


def samples_json(samples: Iterable[Sample], start_s: float) -> list[Json]:
    """Return amounts by resource, where they change."""
    return [{"at": seconds(s.at_s, start_s), "amounts": dict(s.amounts)} for s in samples]


def boards_json(boards: Iterable[BoardRecord]) -> list[Json]:
    """Return what each GPU holds; ``null`` for MIG off."""
    return [
        {
            "node": board.node,
            "gpu": board.index,
            "instances": None
            if board.geometry is None
            else [
                {"profile": i.profile, "start": i.start, "size": i.size}
                for i in board.geometry.instances
            ],
        }
        for board in boards
    ]


def counts_json(counts: Counts | None) -> Mapping[str, int] | None:
    """Return profile counts; ``None`` for MIG off."""
    return None if counts is None else dict(counts)


def seconds(at_s: float | None, start_s: float) -> float | None:
    """Return a moment as seconds from the start, to the millisecond."""
    return None if at_s is None else round(at_s - start_s, 3)
