"""The example notebooks run from their first cell to their last, in a real kernel."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(file.stem for file in EXAMPLES.glob("*.ipynb"))


@pytest.fixture(scope="module")
def kinds():
    """By notebook, the kinds of each output. One kernel runs them all, each on a clean slate: to
    start one costs more than the cells."""
    every = nbformat.v4.new_notebook()
    for name in NAMES:
        notebook = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)
        reset = nbformat.v4.new_code_cell("%reset -f")
        for cell in (reset, *notebook.cells):
            cell["metadata"]["notebook"] = name
            every.cells.append(cell)
    NotebookClient(every, timeout=300, kernel_name="python3").execute()
    found = {name: [] for name in NAMES}
    for cell in every.cells:
        outputs = [output for output in cell.get("outputs", ()) if "data" in output]
        found[cell["metadata"]["notebook"]] += [set(output["data"]) for output in outputs]
    return found


def test_comparing_shows_tables_frames_and_figures(kinds):
    shown = kinds["compare"]
    assert sum("text/html" in kind for kind in shown) == 6
    assert sum("image/png" in kind for kind in shown) == 1


def test_reading_and_forking_shows_the_forks_with_their_scores(kinds):
    assert kinds["fork"] == [*[{"text/plain"}] * 4, {"text/plain", "text/html"}]


def test_a_tool_and_a_task_of_a_notebook_are_run_and_replayed(
    kinds,
):
    plain = {"text/plain"}
    assert kinds["own"] == [plain, plain, {"text/plain", "text/html"}, plain]
