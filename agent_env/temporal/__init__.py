"""Days, day sets, calendars and fact tables: everything the project knows about time itself."""
