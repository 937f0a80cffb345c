"""The slides on TRAVELER, for `study reproduce`."""
