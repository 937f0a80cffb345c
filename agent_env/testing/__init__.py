"""For tests: fakes at the seams, and the conformance kit, which checks what others plug in.

    from agent_env.testing import check_family

    def test_it_conforms():
        check_family("my_pack.family:FAMILY")

Each `check_…` raises one Nonconformance, an AssertionError, that lists everything found: what is
wrong, with which sample or call, and what to do.
"""

from agent_env.testing.fakes import FakeSandbox as FakeSandbox
from agent_env.testing.fakes import FakeSearch as FakeSearch
from agent_env.testing.fakes import FakeTool as FakeTool
from agent_env.testing.fakes import MemoryPages as MemoryPages
from agent_env.testing.fakes import Nonconformance as Nonconformance
from agent_env.testing.fakes import ScriptedModel as ScriptedModel
from agent_env.testing.fakes import answer as answer
from agent_env.testing.fakes import calls as calls
from agent_env.testing.fakes import page as page
from agent_env.testing.fakes import puzzle as puzzle
from agent_env.testing.family import check_family as check_family
from agent_env.testing.model import check_model as check_model
from agent_env.testing.sandbox import check_sandbox as check_sandbox
from agent_env.testing.search import check_search as check_search
from agent_env.testing.tool import check_tool as check_tool
