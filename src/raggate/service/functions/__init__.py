"""What runs in the environment of a service, without raggate beside it."""

from __future__ import annotations

from pathlib import Path

SHIM = Path(__file__).with_name("shim.py")
"""Asks a function of Python in lines of JSON."""
