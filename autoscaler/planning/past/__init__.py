"""What past demand entitles to: requests, the home mix, service times."""
