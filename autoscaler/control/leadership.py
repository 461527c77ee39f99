"""Leadership: which replica may act, by a Lease and the monotonic clock.

The loop has no threads, so nothing renews in the background: the Lease is renewed at
every cycle and, when its last renewal is some seconds old, before every write. It must
therefore outlast the longest stretch without a write, which is planning. Time between
observations of a foreign Lease is measured here, never read from its time stamps, so
clocks may differ.

A check of the Lease and the write after it are two requests, and a process may be
frozen between them. What makes that harmless is the epoch: the Lease's transitions,
more than any journal's. A new leader stamps every open journal with its own before
anything else, which makes all patches of the old one stale, and evicts nobody until
the old one has surely noticed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from autoscaler.control.outside import Outside
from autoscaler.domain.errors import AutoscalerError, Conflict
from autoscaler.ports import LeaseState


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """Times of the Lease, in seconds; each must exceed the one below it.

    Parameters
    ----------
    duration_s
        After this long without a renewal others take over: three cycles of 30 s.
    renew_deadline_s
        After this long without a successful renewal we stop acting ourselves.
    renew_every_s
        A younger renewal is not repeated before a write.
    request_timeout_s
        Longest time one request may be under way.
    """

    duration_s: float = 90.0
    renew_deadline_s: float = 60.0
    renew_every_s: float = 10.0
    request_timeout_s: float = 10.0

    def __post_init__(self) -> None:
        if not self.duration_s > self.renew_deadline_s > self.renew_every_s >= 0.0:
            raise ValueError(f"not in order: {self}")


DEFAULT_TIMES = LeaseTimes()


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether we lead.

    Parameters
    ----------
    epoch
        Transitions of the Lease while we hold it.
    holder
        Who leads; empty when nobody is known to.
    message
        One sentence for people.
    is_new
        Whether we took the Lease just now, perhaps from somebody else.
    """

    is_leader: bool
    epoch: int = 0
    holder: str = ""
    message: str = ""
    is_new: bool = False


class Leadership:
    """One replica's side of one Lease."""

    def __init__(self, outside: Outside, name: str, times: LeaseTimes = DEFAULT_TIMES) -> None:
        self.name = name
        self._outside = outside
        self._times = times
        self._held: LeaseState | None = None
        self._renewed_s = 0.0
        self._sure_from_s = 0.0
        self._foreign: LeaseState | None = None
        self._foreign_since_s = 0.0

    @property
    def epoch(self) -> int:
        """Transitions of the Lease that we hold, 0 when we hold none."""
        return 0 if self._held is None else self._held.transitions

    @property
    def may_evict_from_s(self) -> float:
        """When we may evict: an epoch second, for whoever waits; not before now.

        Kept on the monotonic clock, for the other may be set at any time.
        """
        clock = self._outside.clock
        return clock.now_s() + max(0.0, self._sure_from_s - clock.monotonic_s())

    def ensure(self) -> Standing:
        """Take or renew the Lease if that is ours to do, and say how we stand."""
        return self._renew_or(self._contend)

    def guard(self) -> bool:
        """Say whether we may write now; renews when the last renewal is not fresh.

        A Lease that was lost is not taken again: what we know was seen before that.
        """
        if self._held is None:
            return False
        age_s = self._outside.clock.monotonic_s() - self._renewed_s
        if age_s < self._times.renew_every_s:
            return True
        lost = Standing(False, message="the lease was lost")
        return self._renew_or(lambda _: lost).is_leader

    def _renew_or(self, otherwise: Callable[[LeaseState | None], Standing]) -> Standing:
        """Renew the Lease while it is ours; else drop it and say how we stand then."""
        try:
            lease = self._outside.cluster.read_lease(self._outside.namespace, self.name)
            if self._is_ours(lease):
                return self._renew()
            self._held = None
            return otherwise(lease)
        except Conflict:
            self._held = None
            return Standing(False, message="another replica was first")
        except AutoscalerError as error:
            return self._without_answer(error)

    def raise_above(self, epoch: int) -> bool:
        """Make our epoch higher than a journal's; False when the Lease was lost.

        The Lease may have been deleted, and so have begun to count anew.
        """
        if self._held is None or self._held.transitions > epoch:
            return self._held is not None
        try:
            self._write(replace(self._held, transitions=epoch + 1))
        except AutoscalerError:
            self._held = None
            return False
        return True

    def release(self) -> None:
        """Give the Lease up, so that another replica need not wait for its end."""
        if self._held is None:
            return
        held, self._held = self._held, None
        given_up = replace(held, holder="", renewed_at_s=self._outside.clock.now_s())
        try:
            self._outside.cluster.write_lease(self._outside.namespace, given_up)
        except AutoscalerError:
            # It will run out by itself.
            return

    def _is_ours(self, lease: LeaseState | None) -> bool:
        """Say whether nobody took the Lease from us since we last wrote it."""
        if lease is None or self._held is None:
            return False
        mine = (self._outside.identity, self._held.transitions)
        if (lease.holder, lease.transitions) != mine:
            return False
        # Its resource version may be newer than ours: our own write may have landed
        # although its answer was lost.
        self._held = lease
        return True

    def _contend(self, lease: LeaseState | None) -> Standing:
        """Take a Lease that is free, given up or run out."""
        if lease is None:
            return self._take("", 1, wait=True)
        if not lease.holder:
            return self._take(lease.resource_version, lease.transitions + 1, wait=False)
        if lease.holder == self._outside.identity:
            # We lost count of it, or a process of our name was before us here.
            return self._take(lease.resource_version, lease.transitions + 1, wait=True)
        now_s = self._outside.clock.monotonic_s()
        if self._foreign is None or _is_newer(lease, self._foreign):
            self._foreign, self._foreign_since_s = lease, now_s
        if now_s - self._foreign_since_s >= max(lease.duration_s, self._times.duration_s):
            return self._take(lease.resource_version, lease.transitions + 1, wait=True)
        return Standing(False, holder=lease.holder, message=f"{lease.holder} leads")

    def _take(self, version: str, transitions: int, *, wait: bool) -> Standing:
        clock = self._outside.clock
        self._write(
            LeaseState(
                name=self.name,
                holder=self._outside.identity,
                duration_s=self._times.duration_s,
                renewed_at_s=clock.now_s(),
                transitions=transitions,
                resource_version=version,
            )
        )
        self._foreign = None
        # After a clean release there is no old leader who might still be acting.
        unsure_s = self._times.renew_deadline_s + self._times.request_timeout_s
        self._sure_from_s = clock.monotonic_s() + (unsure_s if wait else 0.0)
        return replace(self._leading("took the lease"), is_new=True)

    def _renew(self) -> Standing:
        if self._held is not None:
            self._write(replace(self._held, renewed_at_s=self._outside.clock.now_s()))
        return self._leading("holds the lease")

    def _write(self, lease: LeaseState) -> None:
        # Measured from before the request: the server's clock starts not earlier.
        began_s = self._outside.clock.monotonic_s()
        self._held = self._outside.cluster.write_lease(self._outside.namespace, lease)
        self._renewed_s = began_s

    def _leading(self, message: str) -> Standing:
        return Standing(True, self.epoch, self._outside.identity, message)

    def _without_answer(self, error: AutoscalerError) -> Standing:
        """Go on for a while when the API server does not answer, then stop."""
        age_s = self._outside.clock.monotonic_s() - self._renewed_s
        if self._held is not None and age_s < self._times.renew_deadline_s:
            return self._leading(f"lease not renewed: {error}")
        self._held = None
        return Standing(False, message=f"no lease: {error}")


def _is_newer(lease: LeaseState, known: LeaseState) -> bool:
    """Say whether a Lease was written since we saw it last."""
    return lease.resource_version != known.resource_version
