"""The policy of the demo: a night in which nodes may change."""

from autoscaler.adapters.policy_file import parse_policy
from autoscaler.domain.policy.policy import Policy
from autoscaler.simulation.demo.scenario import Scenario

# Of the profile that most instances have, so much of the tuned mix is always kept.
KEPT = 0.95
TEXT = """\
apiVersion: mig-autoscaler.io/v1alpha1
kind: MigPolicy
metadata: {{name: demo}}
mode: dry-run
prometheus: {{url: "http://prometheus.monitoring:9090"}}
pools:
  - name: a100
    nodeSelector: {{nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}}
    reserve: {{fullGpuNodes: 1}}
    floors: {{{staple}: {floor}}}
disruption:
  windows:
    - days: [mon, tue, wed, thu, fri]
      start: "22:00"
      end: "06:00"
      timeZone: Asia/Shanghai
  budgets: {{nodes: 2, perHour: 12}}
loop: {{interval: 90s}}
"""


def policy_text(scenario: Scenario) -> str:
    """Return the policy for a scenario, as an operator who tuned the mix would write it."""
    mix = scenario.mix.instances
    staple = max(sorted(mix), key=lambda name: slices_in(scenario, name))
    return TEXT.format(staple=staple, floor=int(KEPT * mix[staple]))


def slices_in(scenario: Scenario, name: str) -> int:
    """Return the compute slices that the instances of a profile have in the tuned mix."""
    profile = scenario.settings.gpu_model.profile(name)
    return 0 if profile is None else profile.compute_slices * scenario.mix.instances[name]


def demo_policy(scenario: Scenario) -> Policy:
    """Return the policy of the demo."""
    return parse_policy(policy_text(scenario), "the demo's policy").policy
