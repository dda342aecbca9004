#!/usr/bin/env python3
"""Makes one animated picture of the frames in a folder: frames-to-gif.py FOLDER FILE."""

import json
import sys
from pathlib import Path

from PIL import Image

LONGEST_MS = 1500
"""Nothing is shown longer than this, but for the last frame."""
LAST_MS = 4000
SHORTEST_MS = 100
"""Frames that follow faster are left out: browsers show them no faster."""
COLOURS = 160


def main() -> None:
    folder, target = Path(sys.argv[1]), Path(sys.argv[2])
    times = json.loads((folder / "times.json").read_text())
    kept: list[int] = []
    for n, at in enumerate(times):
        if not kept or (at - times[kept[-1]]) * 1000 >= SHORTEST_MS or n == len(times) - 1:
            kept.append(n)
    images = [Image.open(folder / f"{n:04}.png").convert("RGB") for n in kept]
    palette = images[-1].quantize(COLOURS)
    images = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    gaps = [int((times[b] - times[a]) * 1000) for a, b in zip(kept, kept[1:])]
    durations = [min(gap, LONGEST_MS) for gap in gaps] + [LAST_MS]
    images[0].save(target, save_all=True, append_images=images[1:], duration=durations, loop=0, optimize=True)
    print(f"{target}: {len(images)} frames, {sum(durations) / 1000:.1f} s, {target.stat().st_size >> 10} KiB")


if __name__ == "__main__":
    main()
