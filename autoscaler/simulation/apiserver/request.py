"""One request to the API server, whatever way it came."""

from dataclasses import dataclass
from enum import StrEnum

from autoscaler.ports import Kind, RawObject


class Verb(StrEnum):
    """What a request wants, in the words of access rules."""

    GET = "get"
    LIST = "list"
    WATCH = "watch"
    CREATE = "create"
    UPDATE = "update"
    PATCH = "patch"
    DELETE = "delete"
    DELETE_COLLECTION = "deletecollection"

    @property
    def writes(self) -> bool:
        """Whether it may change something."""
        return self not in {Verb.GET, Verb.LIST, Verb.WATCH}


class PatchType(StrEnum):
    """How the body of a patch is to be read."""

    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    JSON = "application/json-patch+json"
    APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Query:
    """What a list or watch is narrowed to.

    Parameters
    ----------
    limit, continue_token
        Paging; 0 is everything.
    resource_version, match
        Version to read at; ``Exact`` or ``NotOlderThan``.
    timeout_s
        Longest duration of a watch; ``None`` leaves it to the server.
    bookmarks
        Whether a watch may send bookmarks.
    initial_events
        Whether a watch starts with what exists and marks the end of that.
    """

    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0
    continue_token: str = ""
    resource_version: str = ""
    match: str = ""
    timeout_s: float | None = None
    bookmarks: bool = False
    initial_events: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One request; ``namespace`` is empty for cluster-scoped kinds and for all.

    Parameters
    ----------
    body
        The object, patch or options; ``operations`` are those of a JSON patch.
    user_agent, field_manager
        Who asks, and the name under which changed fields are noted.
    dry_run
        Whether everything happens but the storing.
    """

    verb: Verb
    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    body: RawObject | None = None
    operations: tuple[RawObject, ...] = ()
    patch_type: PatchType = PatchType.MERGE
    user_agent: str = ""
    field_manager: str = ""
    dry_run: bool = False
    query: Query = Query()

    @property
    def manager(self) -> str:
        """The field manager: as named, else the program of the user agent."""
        return self.field_manager or self.user_agent.split("/", 1)[0] or "unknown"

    @property
    def is_mutating(self) -> bool:
        """Whether it could change what is stored; a review is only a question."""
        return self.verb.writes and not self.dry_run and not self.kind.name.endswith("Review")

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        what = (
            f"{self.kind.plural}/{self.subresource}" if self.subresource else self.kind.plural
        )
        return f"{self.verb} {what} {where}".rstrip()
