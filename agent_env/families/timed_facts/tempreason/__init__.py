"""TempReason: time and time, time and event, event and event."""
