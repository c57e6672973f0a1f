"""Motet trains teams of language-model roles with reinforcement learning."""
