"""Years of recurring events, as they were really held."""

from __future__ import annotations

SUMMER_OLYMPICS = (
    1896, 1900, 1904, 1908, 1912, 1920, 1924, 1928, 1932, 1936, 1948, 1952, 1956, 1960, 1964,
    1968, 1972, 1976, 1980, 1984, 1988, 1992, 1996, 2000, 2004, 2008, 2012, 2016, 2021, 2024,
)  # fmt: skip
"""Years in which the modern Summer Olympic Games took place; the Games named 2020 took place in
2021. Source: "Summer Olympic Games", an encyclopedia article."""

WORLD_CUPS = (
    1930, 1934, 1938, 1950, 1954, 1958, 1962, 1966, 1970, 1974, 1978, 1982, 1986, 1990, 1994,
    1998, 2002, 2006, 2010, 2014, 2018, 2022, 2026,
)  # fmt: skip
"""Years of the men's football World Cup finals. Source: "FIFA World Cup"."""

WOMENS_WORLD_CUPS = (1991, 1995, 1999, 2003, 2007, 2011, 2015, 2019, 2023)
"""Years of the women's football World Cup finals. Source: "FIFA Women's World Cup"."""
