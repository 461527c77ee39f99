"""What every simulated controller gets: the API, the time, the delays and the faults."""

from dataclasses import dataclass, field

from autoscaler.domain.errors import Conflict, NotFound
from autoscaler.ports import Clock, Kind, ObjectClient, RawObject
from autoscaler.simulation.apiserver.timestamps import timestamp
from autoscaler.simulation.controllers.faults import Faults
from autoscaler.simulation.controllers.informer import Informers, KindVersion
from autoscaler.simulation.controllers.pods import name_of, namespace_of, uid_of
from autoscaler.simulation.timing import Span, Timing


@dataclass(frozen=True, slots=True)
class Platform:
    """The surroundings of the simulated controllers.

    Parameters
    ----------
    client
        The only way to the cluster's objects.
    clock
        Time; controllers never sleep, they say when they are next due.
    timing
        How long things take.
    faults
        What is to go wrong.
    namespace
        Where the GPU operator's pods live.
    version
        Returns the same for a kind as long as no object of it was written; ``None``
        where that is not known.
    by_list
        Whether changes are found by listing rather than by watching.
    """

    client: ObjectClient
    clock: Clock
    timing: Timing = field(default_factory=Timing)
    faults: Faults = field(default_factory=Faults)
    namespace: str = "gpu-operator"
    version: KindVersion | None = None
    by_list: bool = False
    informers: Informers = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "informers", Informers(self.client, self.version, by_list=self.by_list)
        )

    def now_s(self) -> float:
        """Epoch seconds."""
        return self.clock.now_s()

    def after(self, span: Span, *key: object) -> float:
        """Return the moment a delay that starts now is over."""
        return round(self.clock.now_s() + span.draw(self.timing.seed, *key), 3)

    def stamp(self) -> str:
        """Return the present time as the API writes it."""
        return timestamp(self.clock.now_s())

    def try_patch(
        self, kind: Kind, item: RawObject, body: RawObject, subresource: str = ""
    ) -> bool:
        """Patch an object if it is still the same one; say whether it was.

        When it is not, the watch brings what happened, and the controller acts on that.
        """
        body = {**body, "metadata": {**body.get("metadata", {}), "uid": uid_of(item)}}
        namespace = namespace_of(item) or None
        try:
            self.client.patch(kind, namespace, name_of(item), body, subresource)
        except (Conflict, NotFound):
            return False
        return True

    def try_delete(self, kind: Kind, item: RawObject, grace_s: int | None = None) -> bool:
        """Delete an object if it is still the same one; say whether it was."""
        options: RawObject = {"preconditions": {"uid": uid_of(item)}}
        if grace_s is not None:
            options["gracePeriodSeconds"] = grace_s
        try:
            self.client.delete(kind, namespace_of(item) or None, name_of(item), options)
        except (Conflict, NotFound):
            return False
        return True
