"""TRAVELER: questions over long event lists whose time is explicit, implicit or vague."""
