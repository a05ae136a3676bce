"""Seeded generators of subscriptions and events: the papers' workloads and the auction story."""
