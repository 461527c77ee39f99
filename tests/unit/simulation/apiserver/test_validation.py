"""Names, labels, annotations and amounts: each rule, with its field."""

import pytest

from autoscaler.ports import CONFIG_MAPS, NAMESPACES, NODES, PODS, Kind
from autoscaler.simulation.apiserver.status import StatusError
from autoscaler.simulation.apiserver.validation import (
    annotation_causes,
    check_types,
    is_extended,
    label_causes,
    name_causes,
    quantity_causes,
)

ROLES = Kind("rbac.authorization.k8s.io", "v1", "Role", "roles")


@pytest.mark.parametrize(
    ("kind", "name", "valid"),
    [
        (PODS, "a", True),
        (PODS, "a.b-1", True),
        (PODS, "A", False),
        (PODS, "", False),
        (PODS, "a_b", False),
        (PODS, "-a", False),
        (PODS, "a..b", False),
        (PODS, "a" * 253, True),
        (PODS, "a" * 254, False),
        (NAMESPACES, "a.b", False),
        (NAMESPACES, "a" * 64, False),
        (ROLES, "system:node", True),
        (ROLES, "a/b", False),
    ],
)
def test_names(kind, name, valid) -> None:
    """Subdomains; labels for namespaces; roles may be called almost anything."""
    assert (name_causes(kind, name) == []) is valid


@pytest.mark.parametrize(
    ("key", "value", "valid"),
    [
        ("nvidia.com/mig.config", "all-1g.5gb", True),
        ("a", "", True),
        ("a", "x" * 63, True),
        ("a", "x" * 64, False),
        ("a", "1g.5gb+me", False),
        ("a", "a:b", False),
        ("a", ".a", False),
        ("", "a", False),
        ("a/", "a", False),
        ("A.com/b", "a", False),
        ("a" * 64, "a", False),
        ("a/b/c", "a", False),
    ],
)
def test_labels(key, value, valid) -> None:
    """Keys are qualified names; values are short and plain."""
    causes = label_causes({key: value}, "metadata.labels")
    assert (causes == []) is valid
    assert {cause.field for cause in causes} <= {"metadata.labels"}


def test_annotations_may_be_large_but_not_without_bound() -> None:
    """All keys and values together: 256 KiB."""
    assert annotation_causes({"a": "x" * (256 * 1024 - 1)}) == []
    (cause,) = annotation_causes({"a": "x" * (256 * 1024)})
    assert "may not be more than 262144 bytes" in cause.message
    assert annotation_causes({"a b": ""})


@pytest.mark.parametrize(
    "body",
    [
        {"metadata": []},
        {"metadata": {"labels": {"a": 1}}},
        {"metadata": {"annotations": {"a": True}}},
        {"metadata": {"labels": ["a"]}},
        {"spec": "x"},
        {"status": 1},
    ],
)
def test_what_cannot_be_decoded_is_a_bad_request(body) -> None:
    """A number as a label value is no label."""
    with pytest.raises(StatusError) as refused:
        check_types(NODES, body)
    assert refused.value.code == 400


def test_absent_parts_are_fine() -> None:
    """Null is absent."""
    check_types(CONFIG_MAPS, {"metadata": {"labels": None}, "data": None})


def test_whole_devices_only() -> None:
    """Extended resources are counted; native ones may be split."""
    assert is_extended("nvidia.com/gpu")
    assert not is_extended("cpu")
    assert not is_extended("requests.kubernetes.io/x")
    assert quantity_causes({"cpu": "500m", "nvidia.com/gpu": "2"}, "f") == []
    wrong = quantity_causes({"nvidia.com/gpu": "500m", "cpu": "-1", "memory": "much"}, "f")
    assert [c.field for c in wrong] == ["f[nvidia.com/gpu]", "f[cpu]", "f[memory]"]
