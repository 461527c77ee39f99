"""What may start now, and for all else why not."""
