"""From objects to one view of the fleet: what each GPU holds and what may change."""
