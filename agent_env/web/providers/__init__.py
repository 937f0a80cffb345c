"""Live search: the APIs of the services, and the one client that speaks to all."""
