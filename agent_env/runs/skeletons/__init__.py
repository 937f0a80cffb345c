"""What `new` writes."""
