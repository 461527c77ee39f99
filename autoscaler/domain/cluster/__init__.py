"""What the cluster says: its objects, and the names that mark them."""
