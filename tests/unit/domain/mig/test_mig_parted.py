"""The configuration file of mig-parted."""

import pytest

from autoscaler.domain.counts import Counts
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.mig.mig_parted import Entry, parse_configurations, render_configurations

GOOD = """\
version: v1
mig-configs:
  two-boards:
  - devices: [1, 0]
    device-filter: "0x20B010DE"
    mig-enabled: true
    mig-devices:
      1g.5gb: 5
      1g.5gb+me: 1
  - devices: all
    device-filter: ["0x20B510DE", "0x2BB310DE:0x227A10DE"]
    mig-enabled: false
    mig-devices: {}
  all-enabled:
  - devices: all
    mig-enabled: true
    mig-devices: {}
"""


def one(entry: str) -> str:
    """Return a file with one configuration of one entry."""
    return f"version: v1\nmig-configs:\n  one:\n  - {entry}\n"


def test_all_forms_of_an_entry_are_read():
    """Lists and all, one filter and several, MIG off and MIG on without instances."""
    assert parse_configurations(GOOD) == {
        "all-enabled": (Entry(None, True),),
        "two-boards": (
            Entry((0, 1), True, Counts({"1g.5gb": 5, "1g.5gb+me": 1}), ("0x20B010DE",)),
            Entry(None, False, Counts(), ("0x20B510DE", "0x2BB310DE:0x227A10DE")),
        ),
    }


def test_what_is_written_reads_back_the_same():
    """The text is a function of the content, sorted by name."""
    configurations = parse_configurations(GOOD)
    text = render_configurations(configurations)
    assert parse_configurations(text) == configurations
    assert render_configurations(dict(reversed(configurations.items()))) == text


def test_the_text_is_plain():
    """Devices are always a list or all, and MIG off has no instances."""
    off, seven = Entry((1,), False), Entry((0,), True, Counts({"1g.5gb": 7}))
    assert render_configurations({"as-1": (seven, off)}) == (
        "version: v1\n"
        "mig-configs:\n"
        "  as-1:\n"
        "    - devices: [0]\n"
        "      mig-enabled: true\n"
        '      mig-devices: {"1g.5gb": 7}\n'
        "    - devices: [1]\n"
        "      mig-enabled: false\n"
    )


@pytest.mark.parametrize("name", ["1", "null", "yes", "1e3", "2024-01-01", "as-1e3"])
def test_names_stay_text(name):
    """Also those that YAML would take for something else."""
    written = {name: (Entry(None, False),)}
    assert parse_configurations(render_configurations(written)) == written


def test_a_file_without_configurations_is_one():
    """It holds none."""
    assert parse_configurations(render_configurations({})) == {}


def test_a_name_with_a_plus_is_not_written():
    """No label could name it."""
    with pytest.raises(ValueError, match="not a label value"):
        render_configurations({"all-1g.5gb+me": (Entry(None, False),)})


def test_a_scalar_where_a_list_is_needed_is_refused_with_its_key():
    """A bare number for devices makes the file unusable to MIG manager."""
    text = (
        "version: v1\n"
        "mig-configs:\n"
        "  one-board:\n"
        "  - devices: 3\n"
        "    mig-enabled: true\n"
        '    mig-devices: {"2g.10gb": 3}\n'
    )
    expected = (
        r"^f\.yaml:4: mig-configs\.one-board\[0\]\.devices: must be all or a list .*, is 3$"
    )
    with pytest.raises(ConfigError, match=expected):
        parse_configurations(text, "f.yaml")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{mig-enabled: false}", r"one\[0\]: has no devices"),
        ("{devices: all}", r"one\[0\]: has no mig-enabled"),
        ("{devices: some, mig-enabled: false}", r"devices: must be all"),
        ("{devices: [-1], mig-enabled: false}", r"devices: not a GPU index: -1"),
        ("{devices: ['0'], mig-enabled: false}", r"devices: not a GPU index: '0'"),
        ("{devices: [true], mig-enabled: false}", r"devices: not a GPU index: True"),
        ("{devices: [0, 0], mig-enabled: false}", r"devices: names a GPU twice"),
        ("{devices: all, mig-enabled: 1}", r"mig-enabled: must be true or false, is 1"),
        ("{devices: all, mig-enabled: true}", r"has MIG enabled and no mig-devices"),
        ("{devices: all, mig-enabled: true, mig-devices: [a]}", r"mig-devices: must be a map"),
        ("{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 0}}", r"all numbers are 0"),
        ("{devices: all, mig-enabled: true, mig-devices: {1g.5gb: -1}}", r"instances: -1"),
        ("{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 1.0}}", r"instances: 1\.0"),
        ("{devices: all, mig-enabled: true, mig-devices: {1g.5gb: yes}}", r"instances: True"),
        ("{devices: all, mig-enabled: true, mig-devices: {5gb: 1}}", r"5gb: not the name of"),
        ("{devices: all, mig-enabled: false, mig-devices: {1g.5gb: 1}}", r"must be empty"),
        ("{devices: all, mig-enabled: false, device-filter: 20B0}", r"not a PCI id"),
        ("{devices: all, mig-enabled: false, device-filter: [5]}", r"not a PCI id .*: 5"),
        ("{devices: all, mig-enabled: false, devcie: 1}", r"one\[0\]\.devcie: unknown key"),
        ("{devices: all, mig-enabled: false, devices: all}", r"devices: occurs twice"),
        ("[]", r"one\[0\]: must be a mapping"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_key(entry, message):
    """Every refusal names file, line and key."""
    with pytest.raises(ConfigError, match=message) as refusal:
        parse_configurations(one(entry))
    assert str(refusal.value).startswith("config.yaml:4: mig-configs.one[0]")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"^config\.yaml: empty"),
        ("# nothing\n", r"^config\.yaml: empty"),
        ("- a\n", r"^config\.yaml:1: must be a mapping"),
        ("version: v1\n", r"^config\.yaml:1: has no mig-configs"),
        ("mig-configs: {}\n", r"^config\.yaml:1: version: must be v1, is missing"),
        ("version: v2\nmig-configs: {}\n", r"^config\.yaml:1: version: must be v1, is 'v2'"),
        ("version: v1\nmig-configs: {}\nx: 1\n", r"^config\.yaml:3: x: unknown key"),
        ("version: v1\nmig-configs:\n  a: {}\n", r":3: mig-configs\.a: must be a list"),
        ("version: v1\nmig-configs:\n  1: []\n", r":3: .*keys must be text"),
        ("version: v1\nmig-configs:\n  a: []\n  a: []\n", r":4: mig-configs\.a: occurs twice"),
        ("version: v1\nmig-configs:\n  a_: []\n", r"a_: a node label cannot carry"),
        ("version: v1\nmig-configs:\n  a+b: []\n", r"a\+b: .* cannot carry a \+: name it a\.b"),
        ("version: v1\nmig-configs: {a: [\n", r"^config\.yaml:\d: no YAML"),
        ("version: v1\n---\nversion: v1\n", r"^config\.yaml:2: no YAML"),
        ("version: v1\nmig-configs: {a: &x [*x]}\n", r"a\[0\]: must be a mapping"),
        ("version: !!python/name:os.system\n", r"^config\.yaml: .*constructor"),
        ("version: 2024-99-99\n", r"^config\.yaml: month must be in"),
        ("version: \ud800\n", r"^config\.yaml: no YAML"),
        ("version: \x00\n", r"^config\.yaml: no YAML"),
        ("? {a: b}\n: c\n", r"^config\.yaml: "),
        ("[" * 5000, r"^config\.yaml:1: no YAML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(text, message):
    """Never a traceback of the parser, never part of the file."""
    with pytest.raises(ConfigError, match=message):
        parse_configurations(text)


def test_one_wrong_configuration_makes_the_file_unusable():
    """MIG manager cannot read the good ones beside it either."""
    with pytest.raises(ConfigError, match=r"mig-configs\.z\[0\]"):
        parse_configurations(GOOD + "  z:\n  - devices: 0\n    mig-enabled: false\n")
