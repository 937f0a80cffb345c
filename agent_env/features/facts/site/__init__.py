"""The sealed web's sites: an encyclopedia, a gazette, an almanac, pages of notes, and traps."""
