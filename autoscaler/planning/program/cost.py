"""Cost of a change, term by term, in slice-seconds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """What one change takes from those who use the fleet.

    Parameters
    ----------
    out_of_service
        Compute slices that nobody can use, times seconds.
    work_lost
        Work that evicted pods have done for nothing.
    restarts
        Time that evicted pods take to work again.
    waiting
        Worth of what it makes wait, or of what would have been served without it.
    churn
        What a gain must exceed all this by: a margin against estimates that are too
        kind, and against undoing what was done a moment ago.
    """

    out_of_service: float = 0.0
    work_lost: float = 0.0
    restarts: float = 0.0
    waiting: float = 0.0
    churn: float = 0.0

    @property
    def disturbance(self) -> float:
        """What is lost by the change itself, whatever is made of it."""
        return self.out_of_service + self.work_lost + self.restarts

    def plus(self, other: "Cost") -> "Cost":
        """Return the sum, term by term."""
        return Cost(
            self.out_of_service + other.out_of_service,
            self.work_lost + other.work_lost,
            self.restarts + other.restarts,
            self.waiting + other.waiting,
            self.churn + other.churn,
        )

    def with_margin(self, margin: float) -> "Cost":
        """Return the cost of which a gain must be so many times as much."""
        return Cost(
            self.out_of_service,
            self.work_lost,
            self.restarts,
            self.waiting,
            (margin - 1.0) * self.disturbance,
        )

    def charged(self, stretch: float = 1.0) -> float:
        """Return what the program charges for it.

        Parameters
        ----------
        stretch
            How many times longer it serves than the worth of requests is counted for.
        """
        return self.waiting + (self.disturbance + self.churn) / stretch


NOTHING = Cost()
