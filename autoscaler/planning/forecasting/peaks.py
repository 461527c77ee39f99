"""Peaks: demand that people announce, in the policy or on objects of the cluster.

A peak counts from some time before its start, so that its instances are ready. It is
never a pod: what it brings in pods is taken off what is still to come.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf

from autoscaler.domain.cluster.announcement import CRON_JOB, JOB, NAMESPACE, Announcement
from autoscaler.domain.cluster.bundle import effective_request
from autoscaler.domain.cluster.objects import Pod
from autoscaler.domain.counts import Counts
from autoscaler.domain.demand.demand import Announced
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.resource import resource_name
from autoscaler.domain.policy.peak_note import PeakNote, read_notes
from autoscaler.domain.policy.policy import Disruption, Policy
from autoscaler.domain.policy.window import closes_at_s, is_frozen, is_open, next_open_s
from autoscaler.planning.forecasting.peak_times import Occurrence, Peak, Whose


@dataclass(frozen=True, slots=True)
class Peaks:
    """All peaks of one moment, and what could not be read of others."""

    peaks: tuple[Peak, ...] = ()
    notices: tuple[str, ...] = ()


def peaks_of(policy: Policy, announcements: Iterable[Announcement]) -> Peaks:
    """Return the peaks of a policy and of the objects of a cluster.

    Parameters
    ----------
    policy
        Says whether those of objects count.
    announcements
        In any order.
    """
    peaks = [
        Peak(f"policy {own.name}", _resources(own.profiles), span=own)
        for own in policy.demand.scheduled
    ]
    if not policy.demand.peaks.annotations:
        return Peaks(tuple(peaks))
    notices = []
    for own in sorted(announcements, key=lambda a: (a.kind, a.namespace, a.name)):
        try:
            peaks += _announced_by(own)
        except ConfigError as error:
            notices.append(f"the peak of {own.title} does not count: {error}")
    return Peaks(tuple(peaks), tuple(notices))


def announced_now(
    found: Peaks, policy: Policy, pods: Iterable[Pod], now_s: float
) -> tuple[tuple[Announced, ...], tuple[str, ...]]:
    """Return what counts now of peaks, less what pods ask for already, and notices.

    Parameters
    ----------
    found
        All peaks.
    policy
        Lead, and the windows in which something could be done.
    pods
        All pods of the cluster.
    now_s
        Epoch seconds.
    """
    notices = list(found.notices)
    active: list[tuple[Peak, Occurrence]] = []
    for peak in found.peaks:
        try:
            at = peak.occurrence(now_s, policy.demand.peaks.lead_s)
        except ConfigError as error:
            notices.append(f"the peak of {peak.source} does not count: {error}")
            continue
        if at is not None and _counts_now(at, policy, now_s):
            active.append((peak, at))
    # The more particular ones take their pods first.
    active.sort(key=lambda own: (_breadth(own[0].whose), own[1].start_s, own[0].source))
    left = _left_of(active, pods)
    announced = [
        Announced(peak.source, resource, number, at.start_s, at.end_s)
        for (peak, at), rest in zip(active, left, strict=True)
        for resource, number in rest.items()
    ]
    return tuple(sorted(announced)), tuple(notices)


def edges_s(found: Peaks, policy: Policy, now_s: float) -> Iterator[float]:
    """Yield when peaks begin and cease to count, epoch seconds after now."""
    lead_s = policy.demand.peaks.lead_s
    for peak in found.peaks:
        try:
            at = peak.occurrence(now_s, lead_s)
        except ConfigError:
            continue
        if at is not None:
            yield from (s for s in (at.start_s - lead_s, at.end_s) if now_s < s < inf)


def _announced_by(own: Announcement) -> Iterator[Peak]:
    """Yield the peaks of an object; ConfigError says what is wrong with them."""
    whose = {
        NAMESPACE: Whose(own.name),
        JOB: Whose(own.namespace, job=own.name),
        CRON_JOB: Whose(own.namespace, cron_job=own.name),
    }[own.kind]
    notes = read_notes(own.text) if own.text else (PeakNote(),)
    for note in notes:
        requests = _asked_by(own, note)
        if not requests:
            continue
        if note.span is not None:
            yield Peak(own.title, requests, whose, span=note.span)
        elif note.from_ is not None:
            yield Peak(own.title, requests, whose, once=(note.from_s, note.to_s))
        elif own.kind == CRON_JOB:
            if not own.is_suspended:
                schedule = (own.schedule, own.time_zone)
                run_s = note.for_ or 0.0
                yield Peak(own.title, requests, whose, schedule=schedule, run_s=run_s)
        elif own.kind == JOB:
            if own.is_suspended:
                yield Peak(own.title, requests, whose, once=(own.created_s, inf))
        else:
            raise ConfigError("it says no times: give start and end, or from and to")


def _asked_by(own: Announcement, note: PeakNote) -> Counts:
    """Return what a peak asks for; nothing for an object that announces nothing."""
    if note.profiles:
        return _resources(note.profiles)
    if own.fault:
        raise ConfigError(own.fault)
    if own.text and not own.requests:
        raise ConfigError("it names no profiles, and asks for none itself")
    return own.requests


def _resources(profiles: dict[str, int]) -> Counts:
    return Counts({resource_name(name): number for name, number in profiles.items()})


def _breadth(whose: Whose) -> int:
    return 0 if whose.job or whose.cron_job else 1 if whose.namespace else 2


def _counts_now(at: Occurrence, policy: Policy, now_s: float) -> bool:
    """Say whether a peak is near enough: within the lead, or this is the last window."""
    lead_s = policy.demand.peaks.lead_s
    if at.end_s <= now_s:
        return False
    return at.start_s - lead_s <= now_s or _is_last_chance(
        policy.disruption, at.start_s - lead_s, now_s
    )


def _is_last_chance(rules: Disruption, ready_s: float, now_s: float) -> bool:
    """Say whether no other window opens before something must be begun."""
    if rules.windows is None or rules.outside_windows != "none":
        return False
    if not is_open(rules.windows, now_s) or is_frozen(rules.freezes, now_s):
        return False
    closes_s = closes_at_s(rules.windows, now_s, rules.freezes)
    if closes_s is None or ready_s < closes_s:
        return False
    opens_s = next_open_s(rules.windows, closes_s, rules.freezes)
    return opens_s is None or ready_s < opens_s


def _left_of(active: Iterable[tuple[Peak, Occurrence]], pods: Iterable[Pod]) -> list[Counts]:
    """Return what is still to come of each peak; a pod counts against one of them."""
    own = list(active)
    if not own:
        return []
    earliest_s = min(at.since_s for _, at in own)
    recent = [pod for pod in pods if pod.created_s >= earliest_s]
    recent.sort(key=lambda pod: (pod.created_s, pod.ref))
    left: list[Counts] = []
    used: set[tuple[str, str]] = set()
    for peak, at in own:
        rest = peak.requests
        for pod in recent:
            if not rest or (pod.namespace, pod.name) in used or pod.created_s < at.since_s:
                continue
            if (pod.is_finished and not peak.is_passing) or not peak.whose.has(pod):
                continue
            bundle = effective_request(pod)
            if any(rest[name] for name in bundle):
                rest = rest.minus(bundle)
                used.add((pod.namespace, pod.name))
        left.append(rest)
    return left
