"""Code for several tests, which import it from here and never from each other."""
