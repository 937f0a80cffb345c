"""From options to a plan: samples, conditions and materials, checked before anything is written."""
