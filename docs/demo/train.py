"""A small training script, as anybody might have it: it fits a line to noisy points, and can be stopped and resumed.

All that it knows of Bastion is three variables: where checkpoints go, where to say how far it is, and SIGTERM.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

RATE = 0.05
POINTS = [(x / 50, 3 * x / 50 + 2 + random.Random(x).gauss(0, 0.1)) for x in range(100)]

Model = tuple[float, float]


def improve(model: Model) -> tuple[Model, float]:
    """One step of gradient descent over all points: the better model, and the loss before."""
    slope, offset = model
    errors = [(slope * x + offset - y, x) for x, y in POINTS]
    down = sum(error * x for error, x in errors) / len(POINTS), sum(error for error, _ in errors) / len(POINTS)
    loss = sum(error * error for error, _ in errors) / len(POINTS)
    return (slope - RATE * down[0], offset - RATE * down[1]), loss


def load(file: Path) -> tuple[int, Model]:
    """The step that the checkpoint was made after, and the model; from nothing: step 0."""
    if not file.exists():
        return 0, (0.0, 0.0)
    saved = json.loads(file.read_text())
    return saved["step"], (saved["slope"], saved["offset"])


def save(file: Path, step: int, model: Model) -> None:
    """Write the checkpoint so that it is never half there, and say so in the progress file."""
    new = file.with_suffix(".new")
    new.write_text(json.dumps({"step": step, "slope": model[0], "offset": model[1]}))
    new.replace(file)
    report(step, checkpoint=True)


def report(step: int, *, checkpoint: bool = False) -> None:
    """One line into the progress file, if there is one."""
    if path := os.environ.get("BASTION_PROGRESS_FILE"):
        with open(path, "a") as progress:
            progress.write(json.dumps({"step": step, "checkpoint": checkpoint}) + "\n")


def main() -> int:
    """Train. On SIGTERM: save, and exit with 143, so that whoever asked knows that the work is not done."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--pause", type=float, default=0.15, help="seconds that a step takes longer than it has to")
    args = parser.parse_args()
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    file = Path(os.environ.get("BASTION_CHECKPOINT_DIR", ".")) / "model.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    step, model = load(file)
    print(f"resuming after step {step}" if step else "starting from nothing", flush=True)
    while step < args.steps:
        model, loss = improve(model)
        step += 1
        report(step)
        print(f"step {step}/{args.steps} loss {loss:.4f}", flush=True)
        if asked or step % 20 == 0 or step == args.steps:
            save(file, step, model)
        if asked:
            print(f"asked to stop: checkpoint saved at step {step}", flush=True)
            return 128 + asked[0]
        time.sleep(args.pause)
    print(f"done: y = {model[0]:.2f} x + {model[1]:.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
