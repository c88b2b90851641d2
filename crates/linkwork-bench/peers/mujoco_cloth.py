"""MuJoCo's flex on the sheets of `make bench cloth`. One JSON line.

usage: mujoco_cloth.py SCENE N FRAMES [SPEED]        SCENE: hang, drop, ball, drape

A sheet of 1 m x 1 m, 0.2 kg, N x N vertices, 1/60 s, `discrete` integrator, elastic2d with E h = 3000 N/m. Strain: longest
edge of the grid over its length at rest, less one, after any frame. Depth: how far a vertex is inside a solid. Through: share
of the vertices around the ball's way that it has left behind it.
"""

import json
import sys
import time

import mujoco
import numpy as np

SIDE, MASS, DT, THICKNESS, YOUNG = 1.0, 0.2, 1 / 60, 0.005, 600_000.0


def pins(kind, n):
    """Vertices of the grid that are held; the grid's second direction counts fastest."""
    if kind == "hang":
        return [0, n - 1]
    if kind == "ball":
        return list(range(n)) + list(range(n * (n - 1), n * n))
    return []


def xml(kind, n, speed):
    spacing = SIDE / (n - 1)
    place, turn, solids = {
        "hang": ("0 0 2", "1 0 0 0", ""),
        "drop": ("0 0 0.4", "1 0 0 0", '<geom type="sphere" size="0.25"/>'),
        "ball": ("0 0 0", "0.7071067811865476 0.7071067811865476 0 0",
                 '<body pos="0 0.3 0"><freejoint/><geom name="ball" type="sphere" size="0.1" mass="5"/></body>'),
        "drape": ("0 0 0.6", "1 0 0 0",
                  '<geom type="sphere" size="0.2" pos="0 0 0.3"/><geom type="plane" size="5 5 1"/>'),
    }[kind]
    held = " ".join(map(str, pins(kind, n)))
    pin = f'<pin id="{held}"/>' if held else ""
    own = 'selfcollide="auto"' if kind == "drape" else 'selfcollide="none"'
    what = "both" if kind == "drape" else "stretch"
    return f"""<mujoco><option timestep="{DT}" gravity="0 0 -9.81" integrator="discrete"/>
      <size memory="2G"/><worldbody>{solids}
      <flexcomp name="sheet" type="grid" count="{n} {n} 1" spacing="{spacing} {spacing} {spacing}" mass="{MASS}" dim="2"
        pos="{place}" quat="{turn}" radius="{THICKNESS / 2}">
      <contact {own}/><edge damping="0"/>
      <elasticity young="{YOUNG}" poisson="0.2" thickness="{THICKNESS}" elastic2d="{what}"/>{pin}</flexcomp>
      </worldbody></mujoco>"""


def depth(kind, x):
    """How far the deepest vertex is inside a fixed solid."""
    if kind == "drop":
        return float(np.max(0.25 - np.linalg.norm(x, axis=1), initial=0.0))
    if kind == "drape":
        ball = 0.2 - np.linalg.norm(x - np.array([0, 0, 0.3]), axis=1)
        return float(max(np.max(ball, initial=0.0), np.max(-x[:, 2], initial=0.0)))
    return 0.0


def main():
    kind, n, frames = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    speed = float(sys.argv[4]) if len(sys.argv) > 4 else 5.0
    m = mujoco.MjModel.from_xml_string(xml(kind, n, speed))
    d = mujoco.MjData(m)
    if kind == "ball":
        d.qvel[1 + m.jnt_dofadr[m.body_jntadr[m.geom("ball").bodyid[0]]]] = -speed
    mujoco.mj_forward(m, d)
    rest = SIDE / (n - 1)
    times, strain, deep, through = [], 0.0, 0.0, 0.0
    for _ in range(frames):
        begin = time.process_time()
        mujoco.mj_step(m, d)
        times.append(time.process_time() - begin)
        x = d.flexvert_xpos.reshape(n, n, 3)
        along = [np.linalg.norm(np.diff(x, axis=a), axis=2) for a in (0, 1)]
        strain = max(strain, max(float(a.max()) for a in along) / rest - 1)
        deep = max(deep, depth(kind, x.reshape(-1, 3)))
        if kind == "ball":
            ball = d.xpos[m.geom("ball").bodyid[0]]
            near = np.linalg.norm(x[:, :, [0, 2]] - ball[[0, 2]], axis=2) < 0.05
            through = max(through, float(np.mean(x[near][:, 1] > ball[1])) if near.any() else 0.0)
    print(json.dumps({"version": mujoco.__version__, "seconds": float(np.median(times)), "worst": max(times),
                      "strain": strain, "depth": deep, "through": through}))


main()
