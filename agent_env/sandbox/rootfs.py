"""Makes the interpreter image from the local Python, where no registry is reached.

    python -m agent_env.sandbox.rootfs agent-env-sandbox            imports it into Docker
    python -m agent_env.sandbox.rootfs --tar rootfs.tar             writes the root file system

The image holds what the other backends show: the interpreter, the standard library, the shared
libraries they need, the calendar packages that the harness has, and the worker.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import stat
import tarfile
import tempfile
from pathlib import Path

from agent_env.sandbox.docker import DEFAULT_HOST, IMAGE, PYTHON
from agent_env.sandbox.layout import WORK, SandboxFiles, find_layout

EXCLUDED = {"site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "ensurepip"}
LEFT_OUT_BELOW = ("config-",)
"""Folders of the standard library that no model needs; `config-…` holds the static libpython."""


def main() -> None:
    """As a program; see the module's text."""
    parser = argparse.ArgumentParser(description="Make the sandbox image from the local Python.")
    parser.add_argument("image", nargs="?", default=IMAGE, help="name of the image")
    parser.add_argument("--tar", type=Path, help="write the root file system here instead")
    parser.add_argument("--host", default=os.environ.get("DOCKER_HOST", DEFAULT_HOST))
    arguments = parser.parse_args()
    layout = asyncio.run(find_layout())
    if arguments.tar is not None:
        write_rootfs(layout, arguments.tar)
        print(arguments.tar)
    else:
        print(import_image(layout, arguments.image, arguments.host))


def import_image(layout: SandboxFiles, image: str, host: str = DEFAULT_HOST) -> str:
    """Import the image into an engine; gives its id. The engine's errors come through."""
    from docker import APIClient

    library_path = layout.environment["LD_LIBRARY_PATH"]
    with tempfile.TemporaryDirectory() as folder:
        tar = Path(folder) / "rootfs.tar"
        write_rootfs(layout, tar)
        client = APIClient(base_url=host, timeout=300, version="auto")
        client.import_image_from_file(
            str(tar),
            repository=image,
            tag="latest",
            changes=[f"ENV LD_LIBRARY_PATH={library_path}"],
        )
        image_id = str(client.inspect_image(image)["Id"])
        client.close()
    return image_id


def write_rootfs(layout: SandboxFiles, path: Path) -> None:
    """The root file system as a tar; all of root's, readable by all."""
    with tarfile.open(path, "w") as tar:
        for folder in ("tmp", WORK.strip("/"), "dev", "proc", "sys", "etc"):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(info)
        for bind in layout.binds:
            if not bind.target.startswith("/dev/"):
                add_tree(tar, Path(bind.source), bind.target.lstrip("/"))
        for name in layout.empty_files:
            tar.addfile(plain(tarfile.TarInfo(name.lstrip("/"))), io.BytesIO())
        info = tarfile.TarInfo(PYTHON.lstrip("/"))
        info.type, info.linkname = tarfile.SYMTYPE, layout.python
        tar.addfile(info)


def add_tree(tar: tarfile.TarFile, source: Path, name: str) -> None:
    """A file, or a directory with what is below it; links become what they lead to."""
    if not source.is_dir():
        if source.exists():
            info = plain(tar.gettarinfo(str(source.resolve()), name))
            with source.open("rb") as content:
                tar.addfile(info, content)
        return
    for child in sorted(source.iterdir()):
        if child.name not in EXCLUDED and not child.name.startswith(LEFT_OUT_BELOW):
            add_tree(tar, child, f"{name}/{child.name}")


def plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """The entry without owner, hard links or odd modes."""
    info.type, info.linkname = tarfile.REGTYPE, ""
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mode = 0o755 if info.mode & stat.S_IXUSR else 0o644
    return info


if __name__ == "__main__":
    main()
