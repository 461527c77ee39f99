"""How objects are written into a reply: whole, as a table, or metadata only."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from autoscaler.ports import Change, RawObject
from autoscaler.simulation.apiserver.columns import Column, columns_of
from autoscaler.simulation.apiserver.reading import Listing
from autoscaler.simulation.apiserver.resources import Resource, api_version_of
from autoscaler.simulation.apiserver.status import StatusError

_META = "meta.k8s.io/v1"


class Form(Enum):
    """The form a client accepts."""

    WHOLE = ""
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"


def accepted_form(accept: str) -> Form:
    """Return the first form of an ``Accept`` header that is served; 406 when none is."""
    for choice in accept.split(",") if accept else ["*/*"]:
        media_type, *parameters = [part.strip() for part in choice.split(";")]
        if media_type not in {"application/json", "application/*", "*/*"}:
            continue
        options = dict(part.split("=", 1) for part in parameters if "=" in part)
        wanted = options.get("as", "")
        if wanted in {form.value for form in Form} and options.get("v", "v1") == "v1":
            return Form(wanted)
    text = "only the following media types are accepted: application/json"
    raise StatusError(406, "NotAcceptable", text)


@dataclass(frozen=True, slots=True)
class Renderer:
    """Writes objects of one kind in one form.

    ``clock`` gives the time from which ages count; ``include`` says what of each
    object a table row carries: ``None``, ``Metadata`` or ``Object``.
    """

    resource: Resource
    form: Form
    clock: Callable[[], float]
    include: str = "Metadata"

    def render(self, item: RawObject) -> RawObject:
        """Return one object."""
        if item.get("kind") == "Status" or self.form is Form.WHOLE:
            return item
        if self.form is Form.TABLE:
            version = item["metadata"].get("resourceVersion", "")
            return self._table([item], {"resourceVersion": version})
        return _metadata_only(item)

    def render_list(self, listing: Listing) -> RawObject:
        """Return a page of objects."""
        metadata: RawObject = {"resourceVersion": str(listing.version)}
        if listing.continue_token:
            metadata["continue"] = listing.continue_token
        if listing.remaining is not None:
            metadata["remainingItemCount"] = listing.remaining
        if self.form is Form.TABLE:
            return self._table(listing.items, metadata)
        if self.form is Form.WHOLE:
            kind = self.resource.kind
            identity = {"kind": f"{kind.name}List", "apiVersion": api_version_of(kind)}
            return {**identity, "metadata": metadata, "items": listing.items}
        identity = {"kind": Form.METADATA_LIST.value, "apiVersion": _META}
        # A server really sends null here when there is nothing.
        items = [_metadata_only(item) for item in listing.items] or None
        return {**identity, "metadata": metadata, "items": items}

    def render_change(self, change: Change) -> RawObject:
        """Return one event of a watch."""
        item = change.object
        if change.type == "BOOKMARK" and self.form is Form.TABLE:
            item = {"kind": "Table", "apiVersion": _META, **_bookmark_table(item)}
        elif change.type != "BOOKMARK":
            item = self.render(item)
        return {"type": change.type, "object": item}

    def _table(self, items: Sequence[RawObject], metadata: RawObject) -> RawObject:
        columns = columns_of(self.resource.kind)
        return {
            "kind": "Table",
            "apiVersion": _META,
            "metadata": metadata,
            "columnDefinitions": [_definition(column) for column in columns],
            "rows": [self._row(item, columns) for item in items],
        }

    def _row(self, item: RawObject, columns: Sequence[Column]) -> RawObject:
        now_s = self.clock()
        cells = [column.cell(item, now_s) for column in columns]
        match self.include:
            case "None":
                return {"cells": cells, "object": None}
            case "Object":
                return {"cells": cells, "object": item}
            case _:
                return {"cells": cells, "object": _metadata_only(item)}


def _bookmark_table(item: RawObject) -> RawObject:
    return {"metadata": item["metadata"], "columnDefinitions": [], "rows": []}


def _definition(column: Column) -> RawObject:
    return {
        "name": column.name,
        "type": column.type,
        "format": "name" if column.name == "Name" else "",
        "description": "",
        "priority": 1 if column.wide else 0,
    }


def _metadata_only(item: RawObject) -> RawObject:
    return {
        "kind": Form.METADATA.value,
        "apiVersion": _META,
        "metadata": item["metadata"],
    }
