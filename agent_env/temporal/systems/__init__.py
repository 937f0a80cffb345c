"""Calendar systems beyond the Gregorian one, each validated on a stated span of days."""
