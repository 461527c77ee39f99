"""Runs of ``simulate`` that are recorded, so that CI sees when a decision changes.

``python tools/recorded.py FOLDER`` writes them anew.
"""

import contextlib
import io
import sys
from pathlib import Path

from autoscaler.cli.main import main

DAYS = "--profile-column mig_v100eq --past-days 129:134"
# One for each driver, and one in which nothing of ours decides.
RUNS = {
    "agent": f"{DAYS} --days 134:135 --driver agent --policies autoscaler,static-past",
    "mig-manager": (
        f"{DAYS} --days 134:135 --driver mig-manager --policies autoscaler,static-past"
    ),
    "baselines": (
        f"{DAYS} --days 134:136 --policies static-past,static-hindsight,unpartitioned,"
        "uniform-best,threshold,nos-fixed,hami-slots,das,dra-first-fit,bf,free-repack,miso"
    ),
}


def output_of(options: str) -> str:
    """Return what ``simulate`` prints as JSON."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(["simulate", *options.split(), "-o", "json"])
    if code:
        raise SystemExit(code)
    return out.getvalue()


if __name__ == "__main__":
    for name, options in RUNS.items():
        path = Path(sys.argv[1]) / f"{name}.json"
        path.write_text(output_of(options), encoding="utf-8")
