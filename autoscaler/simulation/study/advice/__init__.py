"""Which policy to use, found on a user's own jobs and proven on days that chose nothing."""
