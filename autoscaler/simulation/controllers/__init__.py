"""The controllers of a cluster with GPUs, each seeing only its API."""
