"""What a page or a search result may do to a result, seen before the model reads it.

`question`: it holds the puzzle's own text: a part of ten words or more as it is, or three in
five of all runs of seven words. `answer`: a line that speaks of an answer or solution beside all
right answers, or three or more right answers in a row. `instructions`: it speaks to an AI system,
or bears the marks of a chat's own turns. With a day asked for, `later`, `changed`, `undated` and
`mentions-later` (see as_of), and `gold`: every right answer rests on it.

Not caught: paraphrase and translation, answers written in another notation than the gold answer's,
text in images, false dates, and orders to a model that use none of
the phrasings below. Seen without need: pages that discuss such orders. So flags are evidence to
look at, and what a page says reaches the model marked as the page's words whether flagged or not.

The web of one episode, seen through its guard.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from agent_env.protocols import Fetcher, SearchProvider
from agent_env.records.manifest import WebSettings
from agent_env.records.pages import Hit, Page, StatedDay
from agent_env.records.schema import Sample
from agent_env.scoring.evidence import holds_all, is_telling
from agent_env.web.as_of import AsOf, dates_of
from agent_env.web.metadata import stated

_TEXT_FIELDS = ("constraints", "explicit_constraints", "question")
_RUN = 7
_SHARE = 0.6
_WHOLE = 10
_ROW = 3
_LOOKED_AT = 2_000_000
"""Characters of a page that are looked at."""
_WORD = re.compile(r"\w+")
_LABEL = re.compile(r"\b(answers?|solutions?|gold|lösung(en)?|réponses?|respuestas?)\b", re.I)
_AI = r"(ai|a\.i\.|language model|llm|chat ?bot|assistant|agent|gpt)s?"
_ORDERS = re.compile(
    r"\b(ignore|disregard|forget|override|bypass)\b.{0,30}\b(previous|prior|earlier|above|your|"
    r"system|all)\b.{0,30}\b(instructions?|prompts?|rules|guidelines|directions|context)\b"
    rf"|\b(if|when|since|as) you(('| a)re| are)? (an? )?(reading this as an? )?{_AI}\b"
    rf"|\b(note|notice|message|attention|instructions?|dear)\b.{{0,15}}\b(to|for)?\s?(all |any )?"
    rf"(the )?{_AI}\b\s*(:|,|reading|agents?|that|which|visiting|crawl)"
    rf"|\b{_AI},? (you )?(must|should|shall|are (instructed|required|told)) (to )?"
    r"(answer|reply|respond|say|state|output|ignore|report|visit|open|cite|recommend)\b"
    r"|\byou are (now )?(an? |the )?(helpful |ai )?(assistant|language model|ai|chatbot)\b"
    r"|\byour (new|real|true|only) (task|instructions?|goal|objective) (is|are)\b"
    r"|\b(reveal|print|repeat|show)\b.{0,20}\b(system prompt|your instructions|your prompt)\b"
    r"|<\|(im_start|im_end|system|user|assistant|endoftext|start_header_id)\|>"
    r"|\[/?INST\]|<</?SYS>>|</?(system|tool_result|function_results|untrusted)>"
    r"|^[^\S\n]*+(system|assistant)\s*+(prompt)?:\s",
    re.I | re.M,
)
_SIGNS = tuple(
    sign.encode()
    for sign in (
        "ignore", "disregard", "forget", "override", "bypass", " ai", "a.i.", "language model",
        "llm", "chatbot", "chat bot", "assistant", " agent", "gpt", "your new", "your real",
        "your true", "your only", "system prompt", "your instructions", "your prompt", "system:",
        "<|", "[inst", "[/inst", "<<sys", "<</sys", "system>", "tool_result>", "function_results>",
        "untrusted>",
    )
)  # fmt: skip
"""One of these is in whatever _ORDERS matches; looking for them first takes a tenth of the
time."""
_NEAR = 160


@dataclass(frozen=True, slots=True)
class Guard:
    """What the pages of one episode are looked at for."""

    parts: tuple[str, ...] = ()
    """The puzzle's text in its parts, as plain words."""
    runs: tuple[str, ...] = ()
    """All runs of seven words in them, and shorter parts whole."""
    gold: tuple[str, ...] = ()
    as_of: AsOf | None = None
    """The day of which pages must be."""
    block_leaks: bool = False
    """Whether what holds the question or its answer is withheld."""

    @classmethod
    def of(cls, sample: Sample, settings: WebSettings, today: str | None = None) -> Guard:
        """The guard for the episodes of this sample; `today` is the day where the settings have
        none, and then pages without a date are withheld."""
        fields = sample.model_dump(include=set(_TEXT_FIELDS))
        texts = [text for name in _TEXT_FIELDS for text in _texts(fields.get(name))]
        parts = tuple(dict.fromkeys(_plain(text) for text in texts))
        runs = tuple(dict.fromkeys(run for part in parts for run in _runs(part)))
        day = settings.as_of or today
        as_of = AsOf(day, settings.undated or "withhold") if day else None
        return cls(parts, runs, sample.gold, as_of, settings.block_leaks)

    def page(self, page: Page) -> Page:
        """The page with what was seen in it, and why it is withheld where it is."""
        dates = dates_of(page) if self.as_of is not None else ()
        flags = self._flags(f"{page.title}\n{page.text}", dates, page.fetched_at)
        if not flags:
            return page
        what = f"{page.url} is withheld: "
        return page.model_copy(update={"flags": flags, "withheld": self._reason(what, flags)})

    def hit(self, hit: Hit, page: Page | None = None) -> Hit:
        """The result, likewise; one without a date takes those of its page, where that is known."""
        date = stated(hit.published, "published", "search")
        dates: tuple[StatedDay, ...] = () if date is None else (date,)
        if date is None and page is not None:
            dates = dates_of(page)
        seen = None if page is None else page.fetched_at
        flags = self._flags(f"{hit.title}\n{hit.snippet}", dates, seen)
        if not flags:
            return hit
        return hit.model_copy(update={"flags": flags, "withheld": self._reason("", flags)})

    def _flags(self, text: str, dates: Sequence[StatedDay], seen: str | None) -> tuple[str, ...]:
        text = text[:_LOOKED_AT]
        of_day = () if self.as_of is None else self.as_of.look(dates, text, seen).flags
        flags = {
            "question": self._holds_question(text),
            "answer": self._holds_answer(text),
            **dict.fromkeys(of_day, True),
            "gold": self.as_of is not None and holds_all(self.gold, text),
            "instructions": gives_orders(text),
        }
        return tuple(name for name, holds in flags.items() if holds)

    def _reason(self, what: str, flags: Sequence[str]) -> str | None:
        if self.as_of is not None and (reason := self.as_of.reason(flags)) is not None:
            return f"{what}{reason}; use another page"
        if self.block_leaks and {"question", "answer"} & set(flags):
            return f"{what}it holds this question or its answer; use another page"
        return None

    def _holds_question(self, text: str) -> bool:
        if not self.runs:
            return False
        plain = _plain(text)
        if any(part in plain for part in self.parts if part.count(" ") > _WHOLE):
            return True
        return sum(run in plain for run in self.runs) >= _SHARE * len(self.runs)

    def _holds_answer(self, text: str) -> bool:
        if not is_telling(self.gold) or not all(v in text for v in self.gold):
            return False
        if len(self.gold) >= _ROW and re.search(
            r"[\s,;|\"'\[\]-]{1,6}".join(map(re.escape, self.gold)), text
        ):
            return True
        return any(
            _LABEL.search(line) and all(value in line for value in self.gold)
            for line in text.splitlines()
        )


def gives_orders(text: str) -> bool:
    """Whether the text speaks to an AI system, by the phrasings that are known."""
    data = text.encode("utf-8", "replace")
    flat = b" " + data.lower().replace(b"\n", b" ")  # lower() of bytes keeps every place
    until = 0
    for at in sorted({at for sign in _SIGNS for at in _places(flat, sign)}):
        if at < until:
            continue
        until = at + _NEAR
        part = data[max(0, at - _NEAR) : at + 2 * _NEAR].decode("utf-8", "ignore")
        if _ORDERS.search(part):
            return True
    return False


def _places(data: bytes, sign: bytes) -> Iterator[int]:
    at = data.find(sign)
    while at >= 0:
        yield at
        at = data.find(sign, at + 1)


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(map(str, value)) if isinstance(value, tuple | list) else ()


def _plain(text: str) -> str:
    """The words alone, in lower case, with a space before and after."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _runs(part: str) -> list[str]:
    words = part.split()
    if len(words) <= _RUN:
        return [part]
    return [f" {' '.join(words[n : n + _RUN])} " for n in range(len(words) - _RUN + 1)]


class GuardedFetcher:
    """A Fetcher whose pages bear what the guard saw."""

    def __init__(self, inner: Fetcher, guard: Guard) -> None:
        self._inner = inner
        self._guard = guard

    async def fetch(self, url: str) -> Page:
        return self._guard.page(await self._inner.fetch(url))


class GuardedSearch:
    """A SearchProvider whose results bear what the guard saw."""

    def __init__(
        self,
        inner: SearchProvider,
        guard: Guard,
        stored: Callable[[str], Page | None] = lambda url: None,
    ) -> None:
        """`stored` gives the page of an address where it is known already."""
        self.name = inner.name
        self._inner = inner
        self._guard = guard
        self._stored = stored

    async def search(self, query: str, limit: int) -> list[Hit]:
        hits = await self._inner.search(query, limit)
        if self._guard.as_of is None:
            return [self._guard.hit(hit) for hit in hits]
        return [self._guard.hit(hit, self._stored(hit.url)) for hit in hits]
