"""Reading answers: dates, names, numbers; measures of sets."""

from typing import TYPE_CHECKING

from agent_env.sdk import on_demand

if TYPE_CHECKING:
    from agent_env.scoring.evidence import agrees as agrees
    from agent_env.scoring.evidence import dates_in as dates_in
    from agent_env.scoring.evidence import stands_in as stands_in
    from agent_env.scoring.sample_means import SampleMeans as SampleMeans
    from agent_env.scoring.sample_means import episode_score as episode_score

__getattr__, __dir__ = on_demand(__file__)
