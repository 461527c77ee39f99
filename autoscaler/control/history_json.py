"""Past rollouts as JSON in our status ConfigMap, and back."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from autoscaler.domain.journal.history import RolloutRecord
from autoscaler.domain.journal.journal_json import MOST
from autoscaler.domain.journal.quarantine import LAST_S
from autoscaler.domain.journal.rollout import Result

# A ring: old records make room. A record takes less than 1 KiB of the 1 MiB there is.
RECORDS = 200
# By then a change has shown what it was good for.
EFFECT_AFTER_S = 600.0


def history_to_text(history: Iterable[RolloutRecord]) -> str:
    """Return the newest of the records, oldest first, a line each."""
    newest = sorted(history, key=_order)[-RECORDS:]
    lines = (json.dumps(_to_json(record), sort_keys=True) for record in newest)
    return "[" + ",\n ".join(lines) + "]"


def history_from_text(text: str) -> tuple[RolloutRecord, ...]:
    """Read records; one that cannot be read is left out, for history decides little.

    What it decides, cooldown and the hourly budget, concerns its last hour, and which
    layouts failed; a node that must be left alone says so itself.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    items = found if isinstance(found, list) else []
    records = (_from_json(item) for item in items if isinstance(item, dict))
    return tuple(record for record in records if record is not None)


def with_records(
    history: Iterable[RolloutRecord], new: Iterable[RolloutRecord]
) -> tuple[RolloutRecord, ...]:
    """Return the history with new records; a rollout is recorded once."""
    by_rollout = {(r.node, r.rollout, r.started_at_s): r for r in new}
    by_rollout |= {(r.node, r.rollout, r.started_at_s): r for r in history}
    return tuple(sorted(by_rollout.values(), key=_order))[-RECORDS:]


def with_effects(
    history: Iterable[RolloutRecord], waiting: frozenset[str], now_s: float
) -> tuple[RolloutRecord, ...]:
    """Return the history with the effect of changes measured that are old enough.

    Parameters
    ----------
    waiting
        Pods that wait now, ``namespace/name``.
    """
    return tuple(_with_effect(record, waiting, now_s) for record in history)


def _with_effect(record: RolloutRecord, waiting: frozenset[str], now_s: float) -> RolloutRecord:
    due_s = record.ended_at_s + EFFECT_AFTER_S
    if record.served is not None or not record.serves or now_s < due_s:
        return record
    served = sum(1 for pod in record.serves if pod not in waiting)
    return replace(record, served=served)


def _to_json(record: RolloutRecord) -> dict[str, object]:
    return {
        "node": record.node,
        "startedAt": record.started_at_s,
        "endedAt": record.ended_at_s,
        "result": record.result.value,
        "plan": record.plan,
        "rollout": record.rollout,
        "pool": record.pool,
        "message": record.message,
        "before": record.before,
        "after": record.after,
        "gain": record.gain,
        "cost": record.cost,
        "serves": list(record.serves),
        "served": record.served,
        "gpus": list(record.gpus),
        "refused": record.refused,
    }


def _from_json(item: Mapping[str, object]) -> RolloutRecord | None:
    """Return a record, ``None`` for what is not one."""
    numbers = [item.get(key) for key in ("startedAt", "endedAt", "gain", "cost")]
    serves, served = item.get("serves"), item.get("served")
    gpus = item.get("gpus")
    if not isinstance(serves, list):
        return None
    known = [float(n) for n in numbers if isinstance(n, int | float) and abs(n) <= MOST]
    if len(known) < len(numbers) or not all(0 <= n <= LAST_S for n in known[:2]):
        return None
    started_s, ended_s, gain, cost = known
    try:
        result = Result(str(item.get("result")))
    except ValueError:
        return None
    return RolloutRecord(
        node=str(item.get("node", "")),
        started_at_s=started_s,
        ended_at_s=ended_s,
        result=result,
        plan=str(item.get("plan", "")),
        rollout=str(item.get("rollout", "")),
        pool=str(item.get("pool", "")),
        message=str(item.get("message", "")),
        before=str(item.get("before", "")),
        after=str(item.get("after", "")),
        gain=gain,
        cost=cost,
        serves=tuple(str(pod) for pod in serves),
        served=served if isinstance(served, int) else None,
        gpus=_indexes(gpus),
        refused=item.get("refused") is True,
    )


def _indexes(value: object) -> tuple[int, ...]:
    """Return the indexes of GPUs; records of earlier versions have none."""
    items = value if isinstance(value, list) else []
    return tuple(index for index in items if isinstance(index, int))


def _order(record: RolloutRecord) -> tuple[float, str]:
    return record.ended_at_s, record.node
