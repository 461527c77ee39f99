"""Every fault of a policy file is named with its line, column and key."""

import json

import pytest

from autoscaler.adapters.policy_file import load_policy, parse_policy
from autoscaler.domain.errors import ConfigError
from autoscaler.domain.policy.policy import policy_hash

HEAD = """\
apiVersion: mig-autoscaler.io/v1alpha1
kind: MigPolicy
metadata: {name: x}
"""
POOLS = "pools: [{name: a}]\n"


def errors(text):
    """Return the lines of the error that a text gives."""
    with pytest.raises(ConfigError) as caught:
        parse_policy(text, "p.yaml")
    return str(caught.value).splitlines()


# One fault each, in line 4 or after it; POOLS comes behind unless the fault has pools.
FAULTS = [
    ("mdoe: auto\n", "4:1: mdoe: is not a key here; did you mean mode?"),
    ("mode: atuo\n", "4:7: mode: 'atuo' is not allowed; did you mean auto?; allowed: off, "),
    ("mode: true\n", "4:7: mode: true is not allowed"),
    ("mode: off\nmode: auto\n", "5:1: mode: is given twice, first in line 4"),
    ("mode:\n", "4:1: mode: has no value"),
    ("disruption: {windows: null}\n", "4:14: disruption.windows: has no value"),
    ("disruption: []\n", "4:13: disruption: must be a mapping, not a list"),
    ("disruption: {cooldown: 30}\n", "4:24: disruption.cooldown: 30 is not a duration like"),
    ("disruption: {cooldown: 1.5}\n", "4:24: disruption.cooldown: '1.5' is not a duration"),
    ("disruption: {cooldown: 1 h}\n", "4:24: disruption.cooldown: '1 h' is not a duration"),
    ("disruption: {cooldown_s: 1h}\n", "4:14: disruption.cooldown_s: is not a key here"),
    ("loop: {interval: 0s}\n", "4:18: loop.interval: must be more than 0"),
    (
        "disruption: {budgets: {nodes: 110%}}\n",
        "4:31: disruption.budgets.nodes: '110%' is neit",
    ),
    ("disruption: {budgets: {nodes: -1}}\n", "4:31: disruption.budgets.nodes: -1 is neither"),
    ("disruption: {budgets: {nodes: true}}\n", "4:31: disruption.budgets.nodes: true is neit"),
    ("disruption: {budgets: {nodes: 1.0}}\n", "4:31: disruption.budgets.nodes: 1.0 is neither"),
    (
        "disruption: {budgets: {perHour: true}}\n",
        "4:33: disruption.budgets.perHour: must be a w",
    ),
    ("disruption: {budgets: {perHour: '4'}}\n", "4:33: disruption.budgets.perHour: must be a "),
    (
        "disruption: {budgets: {perHour: -4}}\n",
        "4:33: disruption.budgets.perHour: must be at l",
    ),
    (
        "disruption: {eviction: {jobs: yes}}\n",
        "4:31: disruption.eviction.jobs: must be true or",
    ),
    (
        "disruption: {eviction: {jobs: 1}}\n",
        "4:31: disruption.eviction.jobs: must be true or f",
    ),
    ("planning: {minGain: .nan}\n", "4:21: planning.minGain: must be a finite number, not nan"),
    ("planning: {minGain: -.inf}\n", "4:21: planning.minGain: must be"),
    ("planning: {minGain: '2'}\n", "4:21: planning.minGain: must be a number, not '2'"),
    ("priorities: {high: 0}\n", "4:20: priorities.high: must be more than 0, not 0"),
    ("priorities: {high: true}\n", "4:20: priorities.high: must be a number, not true"),
    ("prometheus: {}\n", "4:13: prometheus.url: is missing"),
    (
        "prometheus: {url: prometheus:9090}\n",
        "4:19: prometheus.url: 'prometheus:9090' is not an",
    ),
    (
        "prometheus:\n  url: http://a\n  queries: {pendign: up}\n",
        "6:13: prometheus.queries.pendign: there is no query of this name; did you mean pe",
    ),
    (
        "prometheus:\n  url: http://a\n  bearerTokenFile: t\n"
        "  basicAuth: {username: u, passwordFile: f}\n",
        "7:14: prometheus.basicAuth: cannot go with bearerTokenFile",
    ),
    ("demand: {scheduled: [{name: a}]}\n", "4:22: demand.scheduled[0].end: is missing"),
    (
        "demand: {scheduled: [{name: a, start: 09:00, end: 10:00, profiles: {8g.1gb: 1}}]}\n",
        "4:77: demand.scheduled[0].profiles[8g.1gb]: 8g.1gb is no profile of any known GPU",
    ),
    ("pools: []\n", "4:8: pools: must not be empty"),
    ("pools: a\n", "4:8: pools: must be a list, not 'a'"),
    ("pools: [{}]\n", "4:9: pools[0].name: is missing"),
    ("pools: [{name: 7}]\n", "4:16: pools[0].name: must be text, not 7; put it in quotes"),
    ("pools: [{name: a}, {name: a}]\n", "4:27: pools[1].name: a is also the name of pools[0]"),
    ("pools: [{name: 'a b'}]\n", "4:16: pools[0].name: 'a b' is not a name"),
    ("pools: [{name: a, profiles: []}]\n", "4:29: pools[0].profiles: must not be empty"),
    (
        "pools: [{name: a, floors: 4}]\n",
        "4:27: pools[0].floors: must be a mapping from profile",
    ),
    (
        "pools: [{name: a, floors: {1g.5g: 4}}]\n",
        "4:35: pools[0].floors[1g.5g]: 1g.5g is no pr",
    ),
    (
        "pools: [{name: a, floors: {1g.5gb: -1}}]\n",
        "4:36: pools[0].floors[1g.5gb]: must be at ",
    ),
    (
        "pools: [{name: a, ceilings: {1g.5gb: 1}, floors: {1g.5gb: 2}}]\n",
        "4:59: pools[0].floors[1g.5gb]: 2 is above the ceiling of 1",
    ),
    (
        "pools: [{name: a, profiles: [2g.10gb], floors: {1g.5gb: 2}}]\n",
        "4:57: pools[0].floors[1g.5gb]: 1g.5gb is not one of the pool's profiles (2g.10gb)",
    ),
    (
        "pools: [{name: a, profiles: [1g.5gb, 1g.5gb]}]\n",
        "4:29: pools[0].profiles: 1g.5gb is named twice",
    ),
    (
        "pools:\n- name: a\n  nodeSelector: {nvidia.com/gpu.product: NVIDIA-A30}\n"
        "  profiles: [1g.5gb]\n",
        "7:14: pools[0].profiles[0]: 1g.5gb is no profile of NVIDIA-A30; did you mean 1g.6gb?",
    ),
    (
        "pools: [{name: a, nodeSelector: {gpu: true}}]\n",
        "4:39: pools[0].nodeSelector.gpu: must be text, not true; put it in quotes",
    ),
    (
        "pools: [{name: a, reserve: {fullGpuNodes: all}}]\n",
        "4:43: pools[0].reserve.fullGpuNodes:",
    ),
]
SPAN_FAULTS = [
    (
        "start: 25:00, end: 06:00",
        "4:32: disruption.windows[0].start: '25:00' is not a time from",
    ),
    (
        "start: 24:00, end: 06:00",
        "4:32: disruption.windows[0].start: '24:00' is not a time from",
    ),
    ("start: 9:00, end: 06:00", "4:32: disruption.windows[0].start: '9:00' is not a time from"),
    ("start: 900, end: 06:00", "4:32: disruption.windows[0].start: 900 is not a time from"),
    ("start: 09:00, end: 24:01", "4:44: disruption.windows[0].end: '24:01' is not a time from"),
    ("start: 09:00, end: 09:00", "4:44: disruption.windows[0].end: is the same as start"),
    ("start: 09:00", "4:24: disruption.windows[0].end: is missing"),
    ("start: 09:00, end: 10:00, days: []", "4:57: disruption.windows[0].days: names no day"),
    (
        "start: 09:00, end: 10:00, days: [mon, mon]",
        "4:57: disruption.windows[0].days: mon is nam",
    ),
    (
        "start: 09:00, end: 10:00, days: [Mon]",
        "4:58: disruption.windows[0].days[0]: 'Mon' is not",
    ),
    (
        "start: 09:00, end: 10:00, timeZone: Asia/Shangai",
        "4:61: disruption.windows[0].timeZone: 'Asia/Shangai' is not an IANA time zone",
    ),
    (
        "start: 09:00, end: 10:00, timeZone: localtime",
        "4:61: disruption.windows[0].timeZone: 'loc",
    ),
    (
        "start: 09:00, end: 10:00, timeZone: ../etc",
        "4:61: disruption.windows[0].timeZone: '../et",
    ),
    (
        "start: 09:00, end: 10:00, timeZone: +8",
        "4:61: disruption.windows[0].timeZone: 8 is not a",
    ),
]
FREEZE_FAULTS = [
    (
        "from: 2026-02-30, to: 2026-03-01",
        "4:31: disruption.freezes[0].from: 2026-02-30 is no day",
    ),
    (
        "from: 2026-02-01, to: 2026-01-31",
        "4:47: disruption.freezes[0].to: 2026-01-31 is before",
    ),
    (
        "from: 20260201, to: 2026-03-01",
        "4:31: disruption.freezes[0].from: 20260201 is not a day",
    ),
    (
        "from: 2026-2-1, to: 2026-03-01",
        "4:31: disruption.freezes[0].from: '2026-2-1' is not a d",
    ),
    (
        "from: 0001-01-01, to: 2026-03-01",
        "4:31: disruption.freezes[0].from: 0001-01-01 is not b",
    ),
]
ALL_FAULTS = [
    *FAULTS,
    *((f"disruption: {{windows: [{{{text}}}]}}\n", line) for text, line in SPAN_FAULTS),
    *((f"disruption: {{freezes: [{{{text}}}]}}\n", line) for text, line in FREEZE_FAULTS),
]


@pytest.mark.parametrize(("text", "expected"), ALL_FAULTS)
def test_a_fault_is_named_where_it_is(text, expected):
    """The first line of the error is about the fault."""
    rest = "" if text.startswith("pools") else POOLS
    assert errors(HEAD + text + rest)[0].startswith(f"p.yaml:{expected}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "p.yaml:1:1: the file is empty"),
        ("# only a comment\n", "p.yaml:1:1: the file is empty"),
        ("- a\n", "p.yaml:1:1: must be a mapping, not a list"),
        ("policy\n", "p.yaml:1:1: must be a mapping, not 'policy'"),
        ("{}\n", "p.yaml:1:1: apiVersion: is missing and has no default"),
        (HEAD + POOLS + "---\n" + HEAD + POOLS, "p.yaml:5:1: a second document starts here"),
        (
            HEAD + "loop:\n\tinterval: 30s\n",
            "p.yaml:5:1: not valid YAML: found character '\\t'",
        ),
        (HEAD + "loop: {interval: 30s\n", "p.yaml:5:1: not valid YAML: "),
        (HEAD + "loop: !!python/object:os.system x\n", "p.yaml:4:7: tags like"),
        (HEAD + "<<: {a: b}\n", "p.yaml:4:1: merge keys (<<) are not part of YAML 1.2"),
        (HEAD + "? [a, b]\n: c\n", "p.yaml:4:3: a key must be plain text"),
        (HEAD + "loop: *x\n", "p.yaml:4:7: *x has no anchor &x before it"),
        (HEAD + "loop: &x [*x]\n", "p.yaml:4:11: *x has no anchor &x before it"),
        (HEAD + "loop: " + "[" * 50 + "]" * 50 + "\n", "p.yaml:4:47: nested deeper than 40"),
        (HEAD + "a: \x00\n", "p.yaml:4:4: not valid YAML: unacceptable character"),
        ("a: b\n" * 60_000, "p.yaml: is longer than 256 KiB"),
    ],
)
def test_what_is_no_policy_at_all_is_named_too(text, expected):
    """Empty, a list, several documents, tabs, tags and worse."""
    assert errors(text)[0].startswith(expected)


def test_aliases_cannot_grow_without_bound():
    """Nine lines that would stand for a billion values."""
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    assert "more than 10000 values, aliases written out" in errors(bomb)[0]


def test_an_alias_may_save_writing():
    """One window used twice."""
    text = "demand:\n  pending: {minAge: &age 60s}\nplanning: {persistence: *age}\n"
    policy = parse_policy(HEAD + POOLS + text, "p.yaml").policy
    assert policy.planning.persistence_s == policy.demand.pending.min_age_s == 60.0


def test_all_faults_are_told_at_once_and_in_order():
    """Of the form, of names, of contradictions and of the profile table."""
    text = HEAD + (
        "mode: of\n"
        "pools:\n"
        "- {name: a, drivr: agent, profiles: [1g.5gb, 1g.5gb.me]}\n"
        "- {name: a, floors: {3g.20gb: 2}, ceilings: {3g.20gb: 1}}\n"
        "disruption:\n"
        "  windows:\n"
        "  cooldown: soon\n"
        "  freezes: [{from: 2026-12-24, to: 2026-12-22}]\n"
    )
    places = [line.split(": ")[0] + " " + line.split(": ")[1] for line in errors(text)]
    assert places == [
        "p.yaml:4:7 mode",
        "p.yaml:6:13 pools[0].drivr",
        "p.yaml:6:46 pools[0].profiles[1]",
        "p.yaml:7:10 pools[1].name",
        "p.yaml:7:31 pools[1].floors[3g.20gb]",
        "p.yaml:9:3 disruption.windows",
        "p.yaml:10:13 disruption.cooldown",
        "p.yaml:11:36 disruption.freezes[0].to",
    ]


def test_yaml_1_2_keeps_times_days_and_off_as_text():
    """What YAML 1.1 would turn into 1320, a date and false."""
    text = (
        "mode: off\ndisruption:\n  windows: [{start: 22:00, end: 06:00}]\n"
        "  freezes: [{from: 2026-12-24, to: 2026-12-25}]\n"
    )
    for directive in ("", "%YAML 1.1\n---\n"):
        policy = parse_policy(directive + HEAD + POOLS + text, "p.yaml").policy
        assert policy.mode.value == "off"
        assert policy.disruption.windows[0].start == "22:00"
        assert policy.disruption.freezes[0].to.isoformat() == "2026-12-25"


def test_json_is_yaml_too():
    """A policy written by a program."""
    content = {
        "apiVersion": "mig-autoscaler.io/v1alpha1",
        "kind": "MigPolicy",
        "metadata": {"name": "x"},
        "pools": [{"name": "a"}],
    }
    from_json = parse_policy(json.dumps(content, indent=1), "p.json").policy
    assert from_json == parse_policy(HEAD + POOLS, "p.yaml").policy


def test_keys_without_effect_give_warnings_with_their_place():
    """Nothing is refused that a later version will read."""
    text = HEAD + (
        "pools:\n- {name: a, driver: agent, profiles: [1g.5gb], ceilings: {2g.10gb: 1}}\n"
        "- {name: b, strategy: single, nodeSelector: {nvidia.com/gpu.product: NVIDIA-X1}}\n"
        "demand:\n  peaks: {weight: 0}\n"
        "  scheduled: [{name: p, start: 09:00, end: 10:00, profiles: {1g.5gb: 1}}]\n"
    )
    warnings = parse_policy(text, "p.yaml").warnings
    assert [w.split(": ")[0:2] for w in warnings] == [
        ["p.yaml:5:68", "pools[0].ceilings[2g.10gb]"],
        ["p.yaml:6:70", "pools[1].nodeSelector[nvidia.com/gpu.product]"],
        ["p.yaml:9:15", "demand.scheduled[0]"],
    ]


def test_a_time_zone_that_is_nearly_right_gets_a_hint():
    """Names from the zone tables."""
    text = "disruption: {windows: [{start: 09:00, end: 10:00, timeZone: Asia/Shangai}]}\n"
    assert errors(HEAD + POOLS + text)[0].endswith("did you mean Asia/Shanghai?")


def test_comments_and_order_change_the_text_hash_only():
    """Two hashes for two questions."""
    one = parse_policy(HEAD + POOLS, "p.yaml")
    other = parse_policy("# why\n" + POOLS + HEAD, "p.yaml")
    assert one.text_hash != other.text_hash
    assert policy_hash(one.policy) == policy_hash(other.policy)


def test_files_that_cannot_be_read_are_named(tmp_path):
    """Missing, a folder, not UTF-8."""
    with pytest.raises(ConfigError, match=r"nothing\.yaml: cannot be read: No such file"):
        load_policy(tmp_path / "nothing.yaml")
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load_policy(tmp_path)
    bad = tmp_path / "latin.yaml"
    bad.write_bytes(b"mode: off\n# caf\xe9\n")
    with pytest.raises(ConfigError, match=r"latin\.yaml:2:6: is not UTF-8 text"):
        load_policy(bad)
