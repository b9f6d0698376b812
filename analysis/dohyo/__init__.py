"""Dohyo: equal conditions for NoSQL databases, and an honest table at the end."""
