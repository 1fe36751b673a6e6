"""The broker's own assignors. Pure functions from members, subscriptions and topics to a target assignment."""
