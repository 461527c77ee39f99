"""What an operator may say: the policy file, and when its times are."""
