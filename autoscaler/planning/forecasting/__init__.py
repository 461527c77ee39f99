"""Demand to come: seasons, scenarios, and what people announce."""
