"""Lists: pages of one version, old versions, and tokens that ran out."""

import pytest

from autoscaler.ports import CONFIG_MAPS
from autoscaler.simulation.apiserver.status import StatusError
from tests.api import NS, Api, named


def filled(number: int) -> Api:
    """Return an API with some ConfigMaps: ``m0`` and so on."""
    api = Api()
    for index in range(number):
        api.client.create(CONFIG_MAPS, NS, named(f"m{index}"))
    return api


def names(page) -> list[str]:
    return [item["metadata"]["name"] for item in page.items]


def test_pages_are_of_one_version_whatever_happens_between_them() -> None:
    """Neither new, changed nor deleted objects show up in later pages."""
    api = filled(5)
    first = api.page(CONFIG_MAPS, limit=2)
    assert (names(first), first.remaining) == (["m0", "m1"], 3)
    api.client.delete(CONFIG_MAPS, NS, "m3")
    api.client.create(CONFIG_MAPS, NS, named("m2a"))
    api.client.patch(CONFIG_MAPS, NS, "m4", {"data": {"k": "v"}})
    second = api.page(CONFIG_MAPS, limit=2, continue_token=first.continue_token)
    third = api.page(CONFIG_MAPS, limit=2, continue_token=second.continue_token)
    assert names(second) + names(third) == ["m2", "m3", "m4"]
    assert "data" not in third.items[-1]
    assert {page.version for page in (first, second, third)} == {first.version}
    assert third.continue_token == ""


def test_a_selection_is_paged_without_a_count() -> None:
    """The server would have to look at all of them to know."""
    api = filled(3)
    page = api.page(CONFIG_MAPS, limit=1, field_selector="metadata.name!=m0")
    assert (names(page), page.remaining) == (["m1"], None)
    rest = api.page(
        CONFIG_MAPS, continue_token=page.continue_token, field_selector="metadata.name!=m0"
    )
    assert names(rest) == ["m2"]


def test_a_token_runs_out_when_its_version_is_forgotten() -> None:
    """410: start again."""
    api = filled(3)
    token = api.page(CONFIG_MAPS, limit=1).continue_token
    api.client.create(CONFIG_MAPS, NS, named("new"))
    api.store.compact()
    with pytest.raises(StatusError, match="continue parameter is too old") as refused:
        api.page(CONFIG_MAPS, continue_token=token)
    assert (refused.value.code, refused.value.reason) == (410, "Expired")


@pytest.mark.parametrize("token", ["x", "e30=", "bnVsbA==", "\N{SNOWMAN}"])
def test_a_made_up_token_is_refused(token) -> None:
    """400."""
    with pytest.raises(StatusError) as refused:
        Api().page(CONFIG_MAPS, continue_token=token)
    assert refused.value.code == 400


def test_an_exact_version_can_be_read() -> None:
    """Any other version means: at least as new."""
    api = filled(1)
    version = api.store.version
    api.client.create(CONFIG_MAPS, NS, named("later"))
    exact = api.page(CONFIG_MAPS, resource_version=version, match="Exact")
    assert names(exact) == ["m0"]
    assert names(api.page(CONFIG_MAPS, resource_version=version)) == ["later", "m0"]
    assert names(api.page(CONFIG_MAPS, resource_version="0")) == ["later", "m0"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"resource_version": "abc"}, 400),
        ({"resource_version": "-1"}, 400),
        ({"match": "Exact"}, 400),
        ({"resource_version": "99999"}, 504),
        ({"continue_token": "x", "resource_version": "5"}, 400),
    ],
)
def test_versions_that_make_no_sense(query, code) -> None:
    """No number, a match without a version, one from the future, two at once."""
    with pytest.raises(StatusError) as refused:
        Api().page(CONFIG_MAPS, **query)
    assert refused.value.code == code
