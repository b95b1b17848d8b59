"""Folders to build images of."""

from __future__ import annotations

import subprocess
from pathlib import Path

BASE = "bastion-test-base"

DOCKERFILE = f"""
ARG BASE={BASE}
FROM ${{BASE}} AS early
ARG GREETING="hello there" \\
    OTHER
WORKDIR /app
COPY . .
RUN echo "made with $GREETING" | tee made && chmod 0755 say.sh

FROM early AS Late
ENV STAGE=late
CMD ["./say.sh"]

FROM early AS broken
RUN echo about to fall && exit 7
"""
SAY = """#!/bin/sh
echo "says $(cat made), stage ${STAGE:-none}, code $1"
"""


class Code:
    """A git repository with a Dockerfile and a program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")
        (folder / "Dockerfile").write_text(DOCKERFILE)
        (folder / "say.sh").write_text(SAY)
        (folder / ".dockerignore").write_text(".git\n")

    def commit(self) -> None:
        """All that is there."""
        self.git("add", "--all")
        self.git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "--message=code")

    def git(self, *words: str) -> None:
        """Run git in it."""
        subprocess.run(["git", "-C", str(self.folder), *words], check=True, timeout=180)
