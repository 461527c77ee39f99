"""What others do, each told as its source says and charged for what its changes take."""
