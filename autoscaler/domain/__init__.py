"""Values and rules of MIG and of the cluster; no clock, no I/O, no log."""
