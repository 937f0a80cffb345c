"""Two servers that do what the documents say and refuse what they do not allow: a web archive
(RFC 7089, with the addresses of the Wayback Machine) and a wiki's API (MediaWiki 1.39)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from urllib.parse import parse_qs, urlsplit

from tests.web.test_fetch import Site, reply


@dataclass
class Archive:
    """Versions by address: a time and what was archived, (body, status, location). `links` are the
    relations beside those that every answer has; with `frames` the TimeGate answers with a page
    around the memento, as pywb does, else it leads to the memento nearest to the wanted time."""

    versions: dict[str, list[tuple[str, tuple[str, str, str]]]]
    links: tuple[str, ...] = ("prev",)
    frames: bool = False
    site: Site = field(default_factory=lambda: Site({}))

    def get(self, path):
        head = self.site.heads[-1]
        if match := re.fullmatch(r"/web/timemap/link/(http.+)", path):
            rows = [f"<{self.memento(t, match[1])}>; rel=\"memento\"; datetime=\"{http_date(t)}\""
                    for t, _ in self.versions[match[1]]]  # fmt: skip
            return reply(",\n".join(rows).encode(), "application/link-format")
        if match := re.fullmatch(r"/web/(\d{14})(id_)?/(http.+)", path):
            return self.archived(match[3], match[1], raw=match[2] is not None)
        url = path.removeprefix("/web/")
        wanted = re.search(r"accept-datetime: (.+? GMT)\r", head, re.I)
        if wanted is None:
            return reply(b"no Accept-Datetime", status="400 Bad Request")
        if url not in self.versions:
            return reply(b"", status="404 Not Found")
        times = [time_of(t) for t, _ in self.versions[url]]
        nearest = min(times, key=lambda t: abs(t - parsedate_to_datetime(wanted[1])))
        target = self.memento(nearest.isoformat(), url)
        memento = f'<{target}>; rel="memento"; datetime="{http_date(nearest.isoformat())}"'
        if self.frames:
            return reply(b"<iframe>", "text/html", "200 OK", f"Link: {memento}")
        return reply(b"", "text/html", "302 Found", f"Location: {target}", "Vary: accept-datetime")

    def memento(self, time, url):
        return f"{self.site.url}/web/{time_of(time):%Y%m%d%H%M%S}/{url}"

    def archived(self, url, digits, raw):
        rows = self.versions[url]
        at = next(n for n, (t, _) in enumerate(rows) if f"{time_of(t):%Y%m%d%H%M%S}" == digits)
        time, (body, status, location) = rows[at]
        links = [f'<{url}>; rel="original"',
                 f'<{self.site.url}/web/timemap/link/{url}>; rel="timemap"']  # fmt: skip
        if "prev" in self.links and at > 0:
            before = rows[at - 1][0]
            links.append(f'<{self.memento(before, url)}>; rel="prev memento"; '
                         f'datetime="{http_date(before)}"')  # fmt: skip
        if not raw:
            body = f"<p>Toolbar of the archive.</p>{body.replace('http://', self.site.url + '/')}"
        more = [f"Memento-Datetime: {http_date(time)}", f"Link: {', '.join(links)}"]
        if location:
            more.append(f"Location: {self.site.url}/web/{digits}id_/{location}")
        return reply(body.encode(), "text/html", status, *more)


def time_of(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def http_date(text):
    return format_datetime(time_of(text), usegmt=True)


@dataclass
class Wiki:
    """Articles by title: their revisions (time, source), None for a source that is hidden. `moves`
    and `deletions` are the log: (time, old title, new title) and (time, title)."""

    articles: dict[str, list[tuple[str, str | None]]]
    moves: tuple[tuple[str, str, str], ...] = ()
    deletions: tuple[tuple[str, str], ...] = ()

    def get(self, path):
        parts = urlsplit(path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path != "/w/api.php" or query.get("formatversion") != "2":
            return reply(b"<html>no API", status="200 OK")
        body = self.answer(query) if query.get("action") == "query" else refusal("badvalue")
        return reply(json.dumps(body).encode(), "application/json; charset=utf-8")

    def answer(self, query):
        if query.get("meta") == "siteinfo":
            return {"query": {"general": {"articlepath": "/wiki/$1", "lang": "en"}}}
        if query.get("list") == "logevents":
            events = [{"type": "move", "params": {"target_title": new}, "timestamp": at}
                      for at, old, new in self.moves if old == query["letitle"]]  # fmt: skip
            events += [{"type": "delete", "timestamp": at}
                       for at, old in self.deletions if old == query["letitle"]]  # fmt: skip
            return {"query": {"logevents": sorted(events, key=lambda e: e["timestamp"])[::-1]}}
        if (query["rvdir"], query["rvlimit"], query["rvslots"]) != ("older", "1", "main"):
            return refusal("asked in another way")
        if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", query["rvstart"]):
            return refusal("badtimestamp")
        return {"query": {"pages": [{"title": query["titles"]} | self.page(query)]}}

    def page(self, query):
        """What the answer says of the article beside its title."""
        if "[" in query["titles"]:
            return {"invalid": True}
        if query["titles"] not in self.articles:
            return {"missing": True}
        rows = [row for row in self.articles[query["titles"]] if row[0] <= query["rvstart"]]
        if not rows:
            return {}
        at, text = rows[-1]
        written = {"contentmodel": "wikitext", "content": text}
        main = {"texthidden": True} if text is None else written
        return {"revisions": [{"timestamp": at, "slots": {"main": main}}]}


def refusal(code):
    return {"error": {"code": code, "info": f"refused: {code}"}}
