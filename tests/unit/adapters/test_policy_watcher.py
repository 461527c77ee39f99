"""A changed policy file is taken when it is whole and right, and never otherwise."""

import os

import pytest

from autoscaler.adapters.policy_file import PolicyWatcher, load_policy

TEXT = """\
apiVersion: mig-autoscaler.io/v1alpha1
kind: MigPolicy
metadata: {{name: {name}}}
pools: [{{name: a}}, {{name: b}}]
"""


def text(name):
    """Return a policy of this name."""
    return TEXT.format(name=name)


@pytest.fixture
def path(tmp_path):
    """Return a policy file on its own."""
    file = tmp_path / "policy.yaml"
    file.write_text(text("first"))
    return file


@pytest.fixture
def watcher(path):
    """Return a watcher that knows the first policy."""
    return PolicyWatcher(path, load_policy(path))


def polls(watcher, number=3):
    """Return the names of the policies that so many polls give."""
    found = [watcher.poll() for _ in range(number)]
    return [loaded.policy.metadata.name for loaded in found if loaded]


def test_an_unchanged_file_is_no_news(watcher):
    """Nothing however often."""
    assert polls(watcher, 5) == []
    assert watcher.take_error() is None


def test_a_change_in_place_counts_once_it_is_stable(path, watcher):
    """The first poll that sees it may have seen half of it."""
    path.write_text(text("second"))
    assert watcher.poll() is None
    assert watcher.poll().policy.metadata.name == "second"
    assert polls(watcher) == []
    assert watcher.current.policy.metadata.name == "second"


def test_half_a_file_that_would_be_valid_is_never_taken(path, watcher):
    """Without its last line the file is a policy with one pool less."""
    whole = text("second").replace("[{name: a}, {name: b}]", "\n- {name: a}\n- {name: b}")
    half = whole.removesuffix("- {name: b}\n")
    path.write_text(half)
    assert watcher.poll() is None
    path.write_text(whole)
    assert watcher.poll() is None
    assert len(watcher.poll().policy.pools) == 2


def test_a_bad_edit_keeps_the_good_policy_and_is_reported_once(path, watcher):
    """Until the content is another."""
    path.write_text(text("second") + "mdoe: auto\n")
    assert polls(watcher) == []
    assert watcher.current.policy.metadata.name == "first"
    assert "5:1: mdoe: is not a key here" in watcher.take_error()
    assert polls(watcher) == []
    assert watcher.take_error() is None
    assert "mdoe" in watcher.error
    path.write_text("mode: [\n")
    assert polls(watcher) == []
    assert "not valid YAML" in watcher.take_error()


def test_a_repaired_file_clears_the_error(path, watcher):
    """Back to what it was is no new policy; another content is."""
    path.write_text("broken: [\n")
    assert polls(watcher) == []
    path.write_text(text("first"))
    assert polls(watcher) == []
    assert watcher.error is None
    path.write_text(text("third"))
    assert polls(watcher) == ["third"]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"mode: \x00"])
def test_what_is_no_text_is_a_bad_edit(path, watcher, content):
    """Truncated, another encoding, rubbish."""
    path.write_bytes(content)
    assert polls(watcher) == []
    assert watcher.take_error() is not None
    assert watcher.current.policy.metadata.name == "first"


def test_a_deleted_file_keeps_the_policy_and_may_come_back(path, watcher):
    """Editors delete and write anew."""
    path.unlink()
    assert watcher.poll() is None
    assert watcher.take_error() is None
    assert polls(watcher) == []
    assert "cannot be read: No such file" in watcher.take_error()
    path.write_text(text("second"))
    assert polls(watcher) == ["second"]
    assert watcher.error is None


def mount(folder, name, content):
    """Swap a content in as kubelet does: a new folder, and one link renamed to it."""
    version = folder / f"..{name}"
    version.mkdir()
    (version / "policy.yaml").write_text(content)
    fresh = folder / "..data_tmp"
    fresh.symlink_to(version.name)
    os.replace(fresh, folder / "..data")
    link = folder / "policy.yaml"
    if not link.is_symlink():
        link.symlink_to("..data/policy.yaml")
    return link


def test_a_swapped_config_map_counts_at_once(tmp_path):
    """The file behind the links is another, so it is whole."""
    link = mount(tmp_path, "one", text("first"))
    watcher = PolicyWatcher(link, load_policy(link))
    assert polls(watcher) == []
    mount(tmp_path, "two", text("second"))
    assert watcher.poll().policy.metadata.name == "second"
    mount(tmp_path, "three", "mode: auto\n")
    assert watcher.poll() is None
    assert "apiVersion: is missing" in watcher.take_error()
    mount(tmp_path, "four", text("second"))
    assert watcher.poll() is None
    assert watcher.error is None
    assert polls(watcher) == []
