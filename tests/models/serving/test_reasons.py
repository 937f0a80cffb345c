"""Why a server ended, by exit code and log."""

import pytest

from agent_env.models.serving.reasons import reason_of_end

MEMORY = "take a smaller model or quantisation, a shorter context, or free some memory"


@pytest.mark.parametrize(
    ("code", "log", "reason"),
    [
        (
            1,
            "0.1 I loading\n0.00.377.468 E llama_model_load: error loading model: unknown model "
            "architecture: 'lxama'\n0.3 E srv init: exiting",
            "E llama_model_load: error loading model: unknown model architecture: 'lxama'; this "
            "server does not know it; install a newer one, or serve the model by another",
        ),
        (
            1,
            "tensor 'blk.11.ffn_up.weight' data is not within the file bounds, model is corrupted "
            "or incomplete",
            "tensor 'blk.11.ffn_up.weight' data is not within the file bounds, model is corrupted "
            "or incomplete; the model's file is damaged or cut off; fetch it again",
        ),
        (
            1,
            "ValueError: No available memory for the cache blocks.",
            f"ValueError: No available memory for the cache blocks.; {MEMORY}",
        ),
        (137, "loading", f"killed by signal 9, usually for want of memory: {MEMORY}"),
        (-9, "", f"killed by signal 9, usually for want of memory: {MEMORY}"),
        (139, "one\ntwo", "ended by SIGSEGV, its last words: two"),
        (127, "/bin/sh: 1: vllm: not found", "/bin/sh: 1: vllm: not found; check the command of "
         "--serve"),
        (3, "an error came\nbye", "exit code 3, its last words: an error came"),
        (3, "", "exit code 3 without a word"),
        (3, "x\x1b[2J" + "y" * 300, "exit code 3, its last words: x\\u001b[2J" + "y" * 189 + "…"),
    ],
)  # fmt: skip
def test_a_reason_is_one_line_with_what_to_do(code: int, log: str, reason: str) -> None:
    assert reason_of_end(code, log) == reason
