# Generated from _async/__init__.py by scripts/generate.py. Do not edit.
"""The asynchronous client."""
