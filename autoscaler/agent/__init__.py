"""The node agent: inventory of a node's GPUs, and the driver that cuts around pods."""
