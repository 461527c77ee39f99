"""The ConfigMap of configurations that MIG manager starts with, as a manifest.

``python -m autoscaler.cli.initial_configuration > deploy/initial/mig-configurations.yaml``
"""

import sys
from textwrap import indent

from autoscaler.domain.mig.configuration import initial_configurations, render_configurations
from autoscaler.domain.policy.policy import MigManager

HEAD = """\
# Made by: python -m autoscaler.cli.initial_configuration
#
# NVIDIA's own names for all GPU models, each with its device filters: all-disabled,
# all-balanced and all-<profile>.
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
  namespace: {namespace}
  labels: {{app.kubernetes.io/name: mig-autoscaler}}
data:
  config.yaml: |
"""


def initial_manifest() -> str:
    """Return the manifest."""
    own = MigManager()
    head = HEAD.format(name=own.config_map, namespace=own.namespace)
    return head + indent(render_configurations(initial_configurations()), "    ")


if __name__ == "__main__":
    sys.stdout.write(initial_manifest())
