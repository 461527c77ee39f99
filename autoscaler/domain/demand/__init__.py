"""From pods to what is asked for, and by whom it could be served."""
