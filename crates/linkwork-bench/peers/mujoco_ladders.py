"""MuJoCo on the same ladders: free bodies, `connect` for every joint, sparse Newton. One JSON line per setting.

usage: mujoco_ladders.py BARS PATTERNS HEAVY STEPS DT

The ladder is that of `linkwork generate ladder`: cylinders of length 1, radius 0.05, mass 1 (second string times HEAVY),
two strings along +x, 1 apart, a rung across at the end of each pattern, gravity 9.81 perpendicular to it. Gap: largest
distance between the two anchors of a joint after any step. Energy error: largest |E(t) - E(0)| by the largest kinetic
energy, from poses and velocities at the same time.
"""

import json
import sys
import time

import mujoco
import numpy as np


def ladder(bars, patterns, heavy):
    """Bodies (name, centre, direction, mass) and joints (body 1 or None, anchor 1, body 2, anchor 2), all local."""
    bodies, joints = [], []
    x = np.array([1.0, 0, 0])
    z = np.array([0, 0, 1.0])
    strings = [("a", np.zeros(3), 1.0), ("b", z, heavy)]
    last = [None, None]
    for p in range(patterns):
        for side, (name, origin, mass) in enumerate(strings):
            for k in range(bars):
                n = p * bars + k
                bodies.append((f"{name}{n}", origin + x * (n + 0.5), x, mass))
                here = len(bodies) - 1
                if last[side] is None:
                    joints.append((None, origin, here, -0.5 * x))
                else:
                    joints.append((last[side], 0.5 * x, here, -0.5 * x))
                last[side] = here
        at = (p + 1) * bars
        bodies.append((f"rung{p}", x * at + 0.5 * z, z, 1.0))
        rung = len(bodies) - 1
        joints.append((last[0], 0.5 * x, rung, -0.5 * z))
        joints.append((last[1], 0.5 * x, rung, 0.5 * z))
    return bodies, joints


def inertia(mass, axis, radius=0.05, length=1.0):
    across = mass * (3 * radius**2 + length**2) / 12
    along = 0.5 * mass * radius**2
    return [along if abs(a) > 0.5 else across for a in axis]


def model(bodies, joints, dt, integrator, solref, iterations):
    text = [f"""<mujoco><option timestep="{dt}" gravity="0 -9.81 0" integrator="{integrator}" solver="Newton"
      jacobian="sparse" iterations="{iterations}" tolerance="1e-12"><flag contact="disable"/></option><worldbody>"""]
    fmt = lambda v: " ".join(repr(float(c)) for c in v)
    for name, centre, axis, mass in bodies:
        i = fmt(inertia(mass, axis))
        text.append(f'<body name="{name}" pos="{fmt(centre)}"><freejoint/>'
                    f'<inertial pos="0 0 0" mass="{mass}" diaginertia="{i}"/></body>')
    text.append("</worldbody><equality>")
    soft = f'solref="{solref}" solimp="0.9999 0.9999 0.001 0.5 2"'
    for a, p, b, q in joints:
        # The anchor is given in the first body's frame; at the start both anchors coincide.
        other = "" if a is None else f'body2="{bodies[a][0]}"'
        text.append(f'<connect body1="{bodies[b][0]}" {other} anchor="{fmt(q)}" {soft}/>')
    text.append("</equality></mujoco>")
    return mujoco.MjModel.from_xml_string("".join(text))


def run(bodies, joints, steps, dt, integrator, pieces, iterations):
    """`steps` frames of `dt`, each in so many pieces. Joints are as stiff as the piece allows: two of it to settle."""
    m = model(bodies, joints, dt / pieces, integrator, f"{2 * dt / pieces} 1", iterations)
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    first = np.array([-1 if a is None else a for a, _, _, _ in joints])
    second = np.array([b for _, _, b, _ in joints])
    p = np.array([v for _, v, _, _ in joints])
    q = np.array([v for _, _, _, v in joints])

    def gap():
        r, c = d.xmat.reshape(-1, 3, 3)[1:], d.xpos[1:]
        one = np.where((first >= 0)[:, None], c[first] + np.einsum("nij,nj->ni", r[first], p), p)
        two = c[second] + np.einsum("nij,nj->ni", r[second], q)
        return float(np.max(np.linalg.norm(one - two, axis=1)))

    mass = np.array([b[3] for b in bodies])

    def energy():
        mujoco.mj_energyVel(m, d)
        return d.energy[1], float(9.81 * np.sum(mass * d.xpos[1:, 1]))

    kinetic, potential = energy()
    start, worst, drift, most, times = kinetic + potential, 0.0, 0.0, 0.0, []
    for _ in range(steps):
        t = time.perf_counter()
        mujoco.mj_step(m, d, nstep=pieces)
        times.append(time.perf_counter() - t)
        mujoco.mj_kinematics(m, d)
        mujoco.mj_comPos(m, d)
        worst = max(worst, gap())
        kinetic, potential = energy()
        drift, most = max(drift, abs(kinetic + potential - start)), max(most, kinetic)
    return {"integrator": integrator, "pieces": pieces, "iterations": iterations, "times": times, "gap": worst, "energy": drift / most}


def main():
    bars, patterns, heavy, steps, dt = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
    bodies, joints = ladder(bars, patterns, heavy)
    for integrator in ["Euler", "implicitfast", "RK4"]:
        for pieces in [1, 2, 4]:
            result = run(bodies, joints, steps, dt, integrator, pieces, 100)
            # Of every step the fastest of up to three runs, as for the others.
            for _ in range(2):
                if sum(result["times"]) < 1.0:
                    again = run(bodies, joints, steps, dt, integrator, pieces, 100)["times"]
                    result["times"] = [min(a, b) for a, b in zip(result["times"], again)]
            times = sorted(result.pop("times"))
            result["seconds"], result["least"] = times[len(times) // 2], times[0]
            result["version"] = mujoco.__version__
            print(json.dumps(result), flush=True)


main()
