"""One foreign command as a supervised process group."""
