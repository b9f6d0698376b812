"""What several tests need: they import from here, and never from each other."""
