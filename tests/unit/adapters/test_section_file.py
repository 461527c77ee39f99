"""YAML files of one section, and where errors about them point."""

import pytest

from autoscaler.adapters.section_file import read_section
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.policy.section import Section


class Inner(Section):
    """A part."""

    size_s: int = 1


class Outer(Section):
    """A file."""

    name: str
    parts: tuple[Inner, ...] = ()


def write(tmp_path, text):
    path = tmp_path / "a.yaml"
    path.write_text(text)
    return path


def test_a_file_becomes_its_section(tmp_path):
    """With lists as tuples and keys as files write them."""
    file = read_section(Outer, write(tmp_path, "name: x\nparts: [{size: 3}]\n"))
    assert file.section == Outer(name="x", parts=(Inner(size_s=3),))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "name: x\nparts: [{sise: 3}]\n",
            r"a\.yaml:2:10: parts\[0\].sise: .*did you mean size",
        ),
        ("name: x\nparts: [{size: yes}]\n", r"a\.yaml:2:16: parts\[0\].size: must be"),
        ("parts: []\n", r"a\.yaml:1:1: name: is missing"),
        ("name:\n", r"a\.yaml:1:1: name: has no value"),
        ("name: x\nname: y\n", r"a\.yaml:2:1"),
        ("- 1\n", r"a\.yaml:1:1: must be a mapping"),
        ("name: [\n", r"a\.yaml:\d+:\d+: not valid YAML"),
    ],
)
def test_what_is_wrong_has_its_place(tmp_path, text, words):
    """Line, column and key."""
    with pytest.raises(ConfigError, match=words):
        read_section(Outer, write(tmp_path, text))


def test_all_that_is_wrong_is_said_in_the_order_of_the_file(tmp_path):
    """One line each."""
    path = write(tmp_path, "name: 1\nother: 2\nparts: [{size: x}]\n")
    with pytest.raises(ConfigError) as error:
        read_section(Outer, path)
    lines = str(error.value).splitlines()
    assert [line.removeprefix(f"{path}:").partition(":")[0] for line in lines] == [
        "1",
        "2",
        "3",
    ]


def test_errors_about_what_a_key_names_point_to_the_key(tmp_path):
    """Such as a file that is not there."""
    file = read_section(Outer, write(tmp_path, "name: x\nparts:\n  - size: 3\n"))
    with (
        pytest.raises(ConfigError, match=r"a\.yaml:3:11: parts\[0\]\.size: too large"),
        file.about("parts", 0, "size"),
    ):
        raise ConfigError("too large\nand more")
