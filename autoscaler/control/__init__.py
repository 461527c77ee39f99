"""The loop: observe, advance rollouts, plan, gate, start rollouts, report."""
