"""Reading answers: dates, names, numbers; measures of sets."""

from typing import TYPE_CHECKING

from agent_env.sdk import on_demand

if TYPE_CHECKING:
    from agent_env.scoring.answer_parts import answer_parts as answer_parts
    from agent_env.scoring.answer_parts import user_text as user_text
    from agent_env.scoring.date_answers import parse_date_answer as parse_date_answer
    from agent_env.scoring.date_answers import parse_date_text as parse_date_text
    from agent_env.scoring.date_sets import days_off as days_off
    from agent_env.scoring.date_sets import exact_match as exact_match
    from agent_env.scoring.date_sets import f1 as f1
    from agent_env.scoring.date_sets import jaccard as jaccard
    from agent_env.scoring.episode_score import episode_score as episode_score
    from agent_env.scoring.evidence import stands_in as stands_in
    from agent_env.scoring.hedges import hedge as hedge
    from agent_env.scoring.hedges import takes_back as takes_back
    from agent_env.scoring.names import NameList as NameList
    from agent_env.scoring.names import asks as asks
    from agent_env.scoring.names import normalise as normalise
    from agent_env.scoring.names import parse_name_list as parse_name_list
    from agent_env.scoring.names import split_names as split_names
    from agent_env.scoring.names import squad_match as squad_match
    from agent_env.scoring.names import token_f1 as token_f1
    from agent_env.scoring.sample_means import SampleMeans as SampleMeans
    from agent_env.scoring.time_references import TimeReference as TimeReference
    from agent_env.scoring.time_references import flat as flat
    from agent_env.scoring.time_references import says_role as says_role
    from agent_env.scoring.time_references import sentence_starts as sentence_starts
    from agent_env.scoring.time_references import time_references as time_references

__getattr__, __dir__ = on_demand(__file__)
