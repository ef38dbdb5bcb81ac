"""The demonstration: a small real service, and a scripted agent that changes it with one known slip."""
