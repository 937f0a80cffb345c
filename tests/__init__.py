"""The suite; where its data and the checkout stand."""

from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
