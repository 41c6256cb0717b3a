"""What a checkout is: its commit, every way in which it differs from it, and the verdict of the gates of admission."""
