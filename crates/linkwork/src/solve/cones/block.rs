//! One point of contact by itself: three equations, solved exactly.
//!
//! With `v = q + D l` relative to what is asked: `l = 0` where `q_n >= 0`; else it sticks, `l = -D^-1 q`, if that lies in the
//! cone; else it slides, with `v_n = 0` and `v_t = -s l_t`. Elimination of the normal leaves `(S + s) l_t = -p`, and one
//! equation for `s`: `|l_t| = mu l_n`. At `s = 0` the friction is beyond the cone, for large `s` it vanishes; a root lies
//! between. `S` is diagonalised once, so that a step of the search costs a few divisions.
//!
//! A block may also be a resistance to turning, whose limits are given: a spin about the normal and two turns across it,
//! `|l_0| <= m_0`, `|(l_1, l_2)| <= m_1`, each against its motion.

/// The response of one point to itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Block {
    pub d: [[f64; 3]; 3],
    /// What of `d` along the normal is a coat's, and moves nothing.
    pub give: f64,
    friction: f64,
    /// Limits of a resistance; none of a contact.
    pub limits: Option<[f64; 2]>,
    /// No push along the normal moves anything.
    stuck: bool,
    inverse: [[f64; 3]; 3],
    /// Eigenvalues of `S`, and the cosine and sine of its first axis.
    own: [f64; 2],
    axis: [f64; 2],
}

impl Block {
    pub fn new(d: [[f64; 3]; 3], friction: f64, stuck: bool) -> Self {
        let nn = d[0][0];
        let s = |i: usize, j: usize| d[i][j] - d[i][0] * d[0][j] / nn;
        let (a, b, c) = (s(1, 1), s(1, 2), s(2, 2));
        let (half, mean) = (0.5 * (a - c), 0.5 * (a + c));
        let root = length(half, b);
        let (x, y) = if half >= 0.0 { (half + root, b) } else { (b, root - half) };
        let size = length(x, y);
        let axis = if size > 0.0 { [x / size, y / size] } else { [1.0, 0.0] };
        // Rounding may leave a little less than nothing.
        let own = [(mean + root).max(0.0), (mean - root).max(0.0)];
        Self { d, give: 0.0, friction, limits: None, stuck, inverse: invert(&d), own, axis }
    }

    /// The same with a coat, which `d` has already.
    pub fn coated(self, give: f64) -> Self {
        Self { give, ..self }
    }

    /// A resistance to turning.
    pub fn resistance(d: [[f64; 3]; 3], limits: [f64; 2], stuck: bool) -> Self {
        Self { d, limits: Some(limits), stuck, ..Self::default() }
    }

    /// What a unit of force along a row does to it, without the coat.
    pub fn own(&self, i: usize) -> f64 {
        if i == 0 { self.d[0][0] - self.give } else { self.d[i][i] }
    }

    /// The nearest allowed force.
    pub fn project(&self, force: &mut [f64]) {
        if let Some(limits) = self.limits {
            let allowed = if self.stuck { [0.0; 3] } else { within(&limits, force) };
            force.copy_from_slice(&allowed);
            return;
        }
        if self.stuck || !(force[0] > 0.0) {
            force.fill(0.0);
            return;
        }
        let (size, most) = (length(force[1], force[2]), self.friction * force[0]);
        if size > most {
            let share = most / size;
            (force[1], force[2]) = (force[1] * share, force[2] * share);
        }
    }

    /// The force that meets the laws while all others stay: `y` is what the rows have with `had`.
    pub fn next(&self, y: &[f64; 3], low: &[f64; 3], had: &[f64; 3]) -> [f64; 3] {
        if self.stuck {
            return [0.0; 3];
        }
        let d = &self.d;
        if let Some(limits) = &self.limits {
            let most = d[1][1] + d[2][2];
            let at = |i: usize, d: f64| had[i] - (y[i] - low[i]) / d;
            return within(limits, &[at(0, d[0][0]), at(1, most), at(2, most)]);
        }
        let q =
            std::array::from_fn(|i| y[i] - low[i] - (d[i][0] * had[0] + d[i][1] * had[1] + d[i][2] * had[2]));
        solve_block(self, &q)
    }

    /// The same by the normal first and then the tangents, at a fraction of the cost. It comes to rest where `next` does, but
    /// takes more sweeps.
    pub fn nearer(&self, y: &[f64; 3], low: &[f64; 3], had: &[f64; 3]) -> [f64; 3] {
        if self.stuck || self.limits.is_some() {
            return self.next(y, low, had);
        }
        let d = &self.d;
        let normal = (had[0] - (y[0] - low[0]) / d[0][0]).max(0.0);
        let (most, step) = (self.friction * normal, normal - had[0]);
        if !(most > 0.0) {
            return [normal, 0.0, 0.0];
        }
        let own = 0.5 * (d[1][1] + d[2][2] + length(d[1][1] - d[2][2], 2.0 * d[1][2]));
        let [a, b] = [1, 2].map(|i| had[i] - (y[i] - low[i] + d[i][0] * step) / own);
        let size = length(a, b);
        let share = if size > most { most / size } else { 1.0 };
        [normal, share * a, share * b]
    }

    /// How far a force and what it does are from the laws, in the units of the rows.
    pub fn residual(&self, y: &[f64], low: &[f64; 3], force: &[f64]) -> f64 {
        if self.stuck {
            return 0.0;
        }
        let v = [y[0] - low[0], y[1] - low[1], y[2] - low[2]];
        let d = [self.own(0), 0.5 * (self.d[1][1] + self.d[2][2])];
        if let Some(limits) = &self.limits {
            let next =
                within(limits, &[force[0] - v[0] / d[0], force[1] - v[1] / d[1], force[2] - v[2] / d[1]]);
            let across = length(force[1] - next[1], force[2] - next[2]) * d[1];
            return super::larger((force[0] - next[0]).abs() * d[0], across);
        }
        contact_residual(&v, &[force[0], force[1], force[2]], self.friction, d, self.give)
    }

    pub fn friction(&self) -> f64 {
        self.friction
    }

    pub fn is_stuck(&self) -> bool {
        self.stuck
    }
}

/// The nearest torque within limits.
pub(crate) fn within(limits: &[f64; 2], z: &[f64]) -> [f64; 3] {
    let size = length(z[1], z[2]);
    let share = if size > limits[1] { limits[1] / size } else { 1.0 };
    // Not `clamp`, which panics on NaN.
    [z[0].max(-limits[0]).min(limits[0]), share * z[1], share * z[2]]
}

/// How far a force and what it leaves, `v` beyond what is asked, are from the laws: the natural residual, in the units of
/// `v`. `d` is what a unit of force does along the normal and the tangents. What a coat gives way, `give` of a unit along
/// the normal, moves nothing: it counts as what the force is wrong by, moving solids.
pub(crate) fn contact_residual(v: &[f64; 3], force: &[f64; 3], friction: f64, d: [f64; 2], give: f64) -> f64 {
    let whole = d[0] + give;
    let normal = if v[0] < whole * force[0] { v[0].abs() } else { whole * force[0].abs() };
    let normal = if give > 0.0 { normal * (d[0] / whole) } else { normal };
    let z = [force[1] - v[1] / d[1], force[2] - v[2] / d[1]];
    let (size, most) = (length(z[0], z[1]), friction * force[0].max(0.0));
    let share = if size > most { most / size } else { 1.0 };
    let off = length(force[1] - share * z[0], force[2] - share * z[1]) * d[1];
    super::larger(normal, if d[1] > 0.0 { off } else { 0.0 })
}

/// See the module; `q` is what the rows have without the point's own force, beyond what is asked.
pub(crate) fn solve_block(b: &Block, q: &[f64; 3]) -> [f64; 3] {
    if !(q[0] < 0.0) {
        return [0.0; 3];
    }
    let (d, mu) = (&b.d, b.friction);
    if mu == 0.0 {
        return [-q[0] / d[0][0], 0.0, 0.0];
    }
    let i = &b.inverse;
    let stick: [f64; 3] = std::array::from_fn(|k| -(i[k][0] * q[0] + i[k][1] * q[1] + i[k][2] * q[2]));
    if stick[0] >= 0.0 && length(stick[1], stick[2]) <= mu * stick[0] {
        return stick;
    }
    let p = [q[1] - d[1][0] * q[0] / d[0][0], q[2] - d[2][0] * q[0] / d[0][0]];
    let [c, s] = b.axis;
    // Along the axes of S.
    let own = [c * p[0] + s * p[1], c * p[1] - s * p[0]];
    let at = |slip: f64| {
        let e = [-own[0] / (b.own[0] + slip), -own[1] / (b.own[1] + slip)];
        let t = [c * e[0] - s * e[1], s * e[0] + c * e[1]];
        let n = -(q[0] + d[0][1] * t[0] + d[0][2] * t[1]) / d[0][0];
        (n, t)
    };
    let beyond = |slip: f64| {
        let (n, t) = at(slip);
        length(t[0], t[1]) - mu * n
    };
    // Bracket: friction vanishes as the slip grows.
    let scale = 0.5 * (d[1][1] + d[2][2]);
    let (mut low, mut high) = (0.0, scale.max(f64::MIN_POSITIVE));
    let mut tries = 0;
    while beyond(high) > 0.0 && tries < 200 {
        (low, high) = (high, 4.0 * high);
        tries += 1;
    }
    let (mut f_low, mut f_high) = (beyond(low.max(1e-14 * scale)), beyond(high));
    // Regula falsi with halved ends (Illinois), until the bracket is a rounding wide.
    for _ in 0..100 {
        if !(high - low > 1e-15 * high) || f_high == 0.0 {
            break;
        }
        let middle = if f_low.is_finite() && f_low > f_high {
            let x = high - f_high * (high - low) / (f_high - f_low);
            if x > low && x < high { x } else { 0.5 * (low + high) }
        } else {
            0.5 * (low + high)
        };
        let f = beyond(middle);
        if f > 0.0 {
            (low, f_low, f_high) = (middle, f, 0.5 * f_high);
        } else {
            (high, f_high, f_low) = (middle, f, 0.5 * f_low);
        }
        if f.abs() <= 1e-15 * mu * (q[0] / d[0][0]).abs() {
            high = middle;
            break;
        }
    }
    let (n, t) = at(high);
    if !(n > 0.0) {
        return [0.0; 3];
    }
    let (size, most) = (length(t[0], t[1]), mu * n);
    let share = if size > most { most / size } else { 1.0 };
    [n, share * t[0], share * t[1]]
}

/// Of two numbers; the same on every machine, unlike `hypot`.
pub(super) fn length(a: f64, b: f64) -> f64 {
    (a * a + b * b).sqrt()
}

fn invert(d: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let minor = |i: usize, j: usize| {
        let (a, b) = ((i + 1) % 3, (i + 2) % 3);
        let (x, y) = ((j + 1) % 3, (j + 2) % 3);
        d[a][x] * d[b][y] - d[a][y] * d[b][x]
    };
    let determinant = d[0][0] * minor(0, 0) + d[0][1] * minor(0, 1) + d[0][2] * minor(0, 2);
    std::array::from_fn(|i| std::array::from_fn(|j| minor(j, i) / determinant))
}
