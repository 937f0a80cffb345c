"""What samples, episodes and runs are as data."""

from typing import TYPE_CHECKING

from agent_env.sdk import on_demand

if TYPE_CHECKING:
    from agent_env.records.disturbance import AttackName as AttackName
    from agent_env.records.disturbance import AttackOutcome as AttackOutcome
    from agent_env.records.disturbance import Disturbance as Disturbance
    from agent_env.records.disturbance import DrawnFault as DrawnFault
    from agent_env.records.disturbance import Fault as Fault
    from agent_env.records.disturbance import FaultKind as FaultKind
    from agent_env.records.disturbance import FaultOutcome as FaultOutcome
    from agent_env.records.disturbance import SampleAblation as SampleAblation
    from agent_env.records.disturbance import SampleAttack as SampleAttack
    from agent_env.records.escaping import csv_text as csv_text
    from agent_env.records.escaping import identifier as identifier
    from agent_env.records.escaping import unguarded as unguarded
    from agent_env.records.escaping import visible as visible
    from agent_env.records.escaping import writable as writable
    from agent_env.records.imported import ImportedResult as ImportedResult
    from agent_env.records.imported import ImportSource as ImportSource
    from agent_env.records.json_schema import TEXT as TEXT
    from agent_env.records.json_schema import closed as closed
    from agent_env.records.json_schema import one_of as one_of
    from agent_env.records.json_schema import or_null as or_null
    from agent_env.records.manifest import Manifest as Manifest
    from agent_env.records.reach import Reach as Reach
    from agent_env.records.safe_files import new_file as new_file
    from agent_env.records.safe_files import new_folder as new_folder
    from agent_env.records.safe_files import read_file as read_file
    from agent_env.records.safe_files import replace_file as replace_file
    from agent_env.records.schema import Condition as Condition
    from agent_env.records.schema import Episode as Episode
    from agent_env.records.schema import MaterialTable as MaterialTable
    from agent_env.records.schema import Message as Message
    from agent_env.records.schema import ModelFacts as ModelFacts
    from agent_env.records.schema import Proof as Proof
    from agent_env.records.schema import Record as Record
    from agent_env.records.schema import Reply as Reply
    from agent_env.records.schema import Sample as Sample
    from agent_env.records.schema import Score as Score
    from agent_env.records.schema import StopReason as StopReason
    from agent_env.records.schema import Stored as Stored
    from agent_env.records.schema import ToolCall as ToolCall
    from agent_env.records.schema import ToolResult as ToolResult
    from agent_env.records.schema import ToolSpec as ToolSpec
    from agent_env.records.schema import Usage as Usage
    from agent_env.records.schema import Wording as Wording
    from agent_env.records.schema import World as World
    from agent_env.records.tool_traits import AgentUse as AgentUse

__getattr__, __dir__ = on_demand(__file__)
