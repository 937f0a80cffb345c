"""Pages and searches."""

from typing import TYPE_CHECKING

from agent_env.sdk import on_demand

if TYPE_CHECKING:
    from agent_env.records.disturbance import ChangedPage as ChangedPage
    from agent_env.records.disturbance import ShiftedWorld as ShiftedWorld
    from agent_env.records.pages import Hit as Hit
    from agent_env.records.pages import Page as Page
    from agent_env.records.waits import retry_after_s as retry_after_s
    from agent_env.web.built import BuiltWeb as BuiltWeb
    from agent_env.web.built import TextIndex as TextIndex
    from agent_env.web.built import index_of as index_of
    from agent_env.web.full_text import FullText as FullText
    from agent_env.web.full_text import hit_of as hit_of
    from agent_env.web.full_text import words_of as words_of
    from agent_env.web.opened import Web as Web
    from agent_env.web.page_store import SqlitePages as SqlitePages
    from agent_env.web.providers.client import Patience as Patience
    from agent_env.web.stored import page_key as page_key

__getattr__, __dir__ = on_demand(__file__)
