"""CPU of `compare` over two Inspect logs of 1,000 samples x 4 epochs, beside Inspect's own reading.

    python benchmarks/foreign_logs.py FOLDER

One sample is solved by Inspect itself, with a tool, by its mock model; the log holds it 4,000 times
under other ids, epochs and scores, written by Inspect. The logs stay in FOLDER.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalConfig, read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, match
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import tool

from agent_env.runs.comparing.compare import CompareOptions, compare_tasks

SAMPLES, EPOCHS = 1000, 4


@tool
def add() -> Any:
    async def execute(x: int, y: int) -> int:
        """Add two numbers.

        Args:
            x: The first.
            y: The second.
        """
        return x + y

    return execute


def solved(folder: Path) -> Any:
    """The log of one sample: a call, its result and an answer."""
    outputs = [
        ModelOutput.for_tool_call("mockllm/model", "add", {"x": 17, "y": 25}),
        ModelOutput.from_content("mockllm/model", "The sum is 42. " * 20 + "42"),
    ]
    for output in outputs:  # else the mock counts tokens by a file from the network
        output.usage = ModelUsage(input_tokens=900, output_tokens=90, total_tokens=990)
    sample = Sample(id="1", input="What is 17 + 25? " * 20, target="42", metadata={"topic": "sums"})
    task = Task([sample], name="sums", solver=[use_tools(add()), generate()], scorer=match())
    model = get_model("mockllm/model", custom_outputs=outputs)
    (log,) = eval(task, model=model, log_dir=str(folder / "one"), display="none")
    if log.status != "success":
        raise SystemExit(f"Inspect could not solve the sample: {log.error}")
    return log


def write(log: Any, file: Path, share: float, seed: int) -> None:
    draw = random.Random(seed)
    (one,) = log.samples
    samples = []
    for number in range(SAMPLES):
        for epoch in range(1, EPOCHS + 1):
            scores = {"match": Score(value="C" if draw.random() < share else "I")}
            fields = {"id": f"s{number}", "epoch": epoch, "scores": scores, "uuid": None}
            samples.append(one.model_copy(update=fields))
    config = EvalConfig(epochs=EPOCHS)
    spec = log.eval.model_copy(update={"model": f"mockllm/{file.stem}", "config": config})
    write_eval_log(log.model_copy(update={"samples": samples, "eval": spec}), str(file))


def main(folder: Path) -> None:
    files = (folder / "a.eval", folder / "b.eval")
    if not all(file.exists() for file in files):
        log = solved(folder)
        for seed, file in enumerate(files):
            write(log, file, 0.5 + 0.05 * seed, seed)
    start = time.process_time()
    for file in files:
        read_eval_log(str(file))
    theirs = time.process_time()
    (task,) = compare_tasks(CompareOptions(runs=files, metric="match"), print)
    whole = time.process_time()
    print(f"Inspect's own reading of both: {theirs - start:.1f} CPU-s")
    print(f"compare, reading included: {whole - theirs:.1f} CPU-s")
    (contrast,) = task.comparison.contrasts
    print(f"{contrast.name}: {contrast.difference.value:+.4f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
