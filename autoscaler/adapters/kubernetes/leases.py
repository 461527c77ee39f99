"""Leases: raw API objects and their slim values, in both directions."""

from collections.abc import Mapping

from autoscaler.adapters.kubernetes.reading import (
    format_time,
    integer_at,
    mapping_at,
    text_at,
    time_at,
)
from autoscaler.ports import LeaseState, RawObject


def lease_from(raw: Mapping[str, object]) -> LeaseState:
    """Return a lease; a time that cannot be read is long ago, and so expired."""
    metadata = mapping_at(raw, "metadata", [])
    spec = mapping_at(raw, "spec", [])
    return LeaseState(
        name=text_at(metadata, "name"),
        holder=text_at(spec, "holderIdentity"),
        duration_s=float(integer_at(spec, "leaseDurationSeconds", [])),
        renewed_at_s=time_at(spec, "renewTime", []) or 0.0,
        transitions=integer_at(spec, "leaseTransitions", []),
        resource_version=text_at(metadata, "resourceVersion"),
    )


def lease_body(lease: LeaseState) -> RawObject:
    """Return the object that makes a lease read as given."""
    metadata = {"name": lease.name}
    if lease.resource_version:
        metadata["resourceVersion"] = lease.resource_version
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": {
            "holderIdentity": lease.holder,
            # The API takes whole seconds above 0 only.
            "leaseDurationSeconds": max(1, round(lease.duration_s)),
            "renewTime": format_time(lease.renewed_at_s, micro=True),
            "leaseTransitions": lease.transitions,
        },
    }
