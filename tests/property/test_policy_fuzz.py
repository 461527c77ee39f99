"""Whatever stands in a policy file, the answer is a policy or a clear error."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from autoscaler.adapters.policy_file import parse_policy
from autoscaler.domain.errors import ConfigError

GOOD = """\
apiVersion: mig-autoscaler.io/v1alpha1
kind: MigPolicy
metadata: {name: research}
mode: dry-run
prometheus: {url: "http://prometheus.monitoring:9090"}
pools:
  - name: a100
    nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}
    profiles: [1g.5gb, 3g.20gb]
    reserve: {fullGpuNodes: "10%"}
    floors: [{start: "07:00", end: "22:00", profiles: {1g.5gb: 4}}]
disruption:
  windows: [{days: [mon, tue], start: "22:00", end: "06:00", timeZone: Asia/Shanghai}]
  freezes: [{from: "2026-12-24", to: "2027-01-02"}]
  budgets: {nodes: 1, perHour: 4}
"""
RUBBISH = st.sampled_from(
    ["true", "null", "-1", "1.5", ".nan", "[]", "{}", "*a", "&a x", "{a: b}", "- ", ": ", "\t",
     "'", '"', "!!set", "24:00", "2026-02-30", "9" * 40, "\u2028", "\n", "#"]
)  # fmt: skip


def check(text):
    """Read a text; an error must name a place in each of its lines."""
    try:
        loaded = parse_policy(text, "p.yaml")
    except ConfigError as error:
        for line in str(error).splitlines():
            assert re.match(r"p\.yaml:\d+:\d+: .", line), line
    else:
        assert loaded.policy.pools


@settings(max_examples=150)
@given(st.integers(0, len(GOOD)), st.integers(0, 12), RUBBISH)
def test_a_spoiled_file_gives_a_policy_or_places(start, length, rubbish):
    """Some characters replaced by others that mean something in YAML."""
    check(GOOD[:start] + rubbish + GOOD[start + length :])


@given(st.text(max_size=60))
def test_any_text_gives_places(text):
    """Not even YAML."""
    check(text)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2)
    ),
    max_leaves=4,
)  # fmt: skip
KEYS = [
    "mode",
    "pools",
    "metadata",
    "demand",
    "disruption",
    "planning",
    "priorities",
    "prometheus",
]


@given(st.sampled_from(KEYS), values)
def test_any_value_of_a_key_gives_places(key, value):
    """Python's way to write most values is YAML, too."""
    check(
        "\n".join(line for line in GOOD.splitlines() if not line.startswith(key))
        + f"\n{key}: {value!r}\n"
    )
