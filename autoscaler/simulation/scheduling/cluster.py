"""All nodes with the pods that are bound, or about to be bound, to them."""

from autoscaler.ports import RawObject
from autoscaler.simulation.controllers.pods import name_of
from autoscaler.simulation.scheduling.filters import ANTI_AFFINITY
from autoscaler.simulation.scheduling.queue import ANYTHING
from autoscaler.simulation.scheduling.room import Room, room_of
from autoscaler.simulation.scheduling.shape import Shape


class Cluster:
    """What the scheduler believes of the cluster.

    Attributes
    ----------
    rooms
        Nodes by name.
    given_back
        Resources that became free since they were last taken from here.
    """

    def __init__(self) -> None:
        self.rooms: dict[str, Room] = {}
        self.given_back: set[str] = set()
        self._homes: dict[str, tuple[str, Shape]] = {}

    def put_node(self, node: RawObject) -> None:
        """Take in a node as the API server shows it."""
        name = name_of(node)
        known = self.rooms.get(name)
        if known is not None:
            if known.update(node):
                self.given_back.add(ANYTHING)
            return
        room = self.rooms[name] = room_of(node)
        for uid, (home, shape) in self._homes.items():
            if home == name:
                room.add(uid, shape)
        self.given_back.add(ANYTHING)

    def drop_node(self, name: str) -> None:
        """Forget a node; its pods are gone when the API server says so."""
        self.rooms.pop(name, None)
        self.given_back.add(ANYTHING)

    def has(self, uid: str) -> bool:
        """Say whether a pod is on a node already."""
        return uid in self._homes

    def put_pod(self, uid: str, home: str, shape: Shape) -> None:
        """Put a pod on a node."""
        old = self._homes.get(uid)
        if old is not None and old[0] == home:
            return
        if old is not None:
            self.drop_pod(uid)
        self._homes[uid] = (home, shape)
        if home in self.rooms:
            self.rooms[home].add(uid, shape)

    def drop_pod(self, uid: str) -> None:
        """Take a pod off its node, if it is on one; what it held is given back."""
        home, _ = self._homes.pop(uid, ("", None))
        shape = self.rooms[home].remove(uid) if home in self.rooms else None
        if shape is None:
            return
        self.given_back.update(resource for resource, _ in shape.needs.devices)
        self.given_back.update(("cpu", "memory", "pods"))
        # Its going may also end an anti-affinity, which no resource stands for.
        self.given_back.add(ANTI_AFFINITY)

    def nominate(self, uid: str, shape: Shape, node: str) -> None:
        """Keep room on a node for a pod."""
        if node in self.rooms:
            self.rooms[node].nominated[uid] = shape

    def withdraw(self, uid: str, node: str) -> None:
        """Keep room no longer."""
        if node in self.rooms and self.rooms[node].nominated.pop(uid, None) is not None:
            self.given_back.add(ANYTHING)
