"""A command."""


def greet(name: str) -> None:
    """Greet somebody.

    Example: agent-env greet Ada
    """
    print(f"Hello, {name}.")
