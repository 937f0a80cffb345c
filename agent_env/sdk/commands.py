"""What commands print and take."""

from typing import TYPE_CHECKING

from agent_env.sdk import on_demand

if TYPE_CHECKING:
    from agent_env.cli.options import with_options as with_options
    from agent_env.cli.run import AsJson as AsJson
    from agent_env.cli.run import RunPath as RunPath
    from agent_env.cli.run import Wide as Wide
    from agent_env.cli.run import for_each_run as for_each_run
    from agent_env.cli.run import listening as listening
    from agent_env.cli.run import print_table as print_table
    from agent_env.extras import need_extra as need_extra
    from agent_env.records.options import DISTURBANCES as DISTURBANCES
    from agent_env.records.options import WHAT as WHAT
    from agent_env.records.options import Opt as Opt
    from agent_env.records.options import OptionGroup as OptionGroup
    from agent_env.runs.screen.terminal import say as say

__getattr__, __dir__ = on_demand(__file__)
