"""An invented world: people, offices, clubs and what happened, from a seed alone."""
