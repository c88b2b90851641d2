//! The two iterations behind the iterative solvers, written against products only.

/// `out = A v`, and optionally a preconditioner `out = P v`.
pub(crate) trait Symmetric {
    fn multiply(&mut self, v: &[f64], out: &mut [f64]);
    fn precondition(&self, v: &[f64], out: &mut [f64]);
}

/// Least squares through its dual: `B B^T`-products split in two.
pub(crate) trait Rectangular {
    /// `y = B^T u`.
    fn transpose(&mut self, u: &[f64], y: &mut [f64]);
    /// `out = B y`.
    fn forward(&mut self, y: &[f64], out: &mut [f64]);
    /// Length of `y`.
    fn width(&self) -> usize;
    /// Below this a product with a unit vector is rounding, not a direction.
    fn noise(&self) -> f64;
}

/// Why an iteration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Tolerance,
    /// CG: the system looks inconsistent or the rounding wins. LSMR: the least-squares answer is reached.
    Stalled,
    Iterations,
    Time,
}

impl From<Ended> for super::Stop {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Tolerance => Self::Tolerance,
            Ended::Stalled => Self::LeastSquares,
            Ended::Iterations => Self::Iterations,
            Ended::Time => Self::Time,
        }
    }
}

/// Vectors of an iteration, kept between solves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    vectors: Vec<Vec<f64>>,
}

impl Scratch {
    fn take<const N: usize>(&mut self, n: usize) -> [Vec<f64>; N] {
        std::array::from_fn(|_| {
            let mut v = self.vectors.pop().unwrap_or_default();
            v.clear();
            v.resize(n, 0.0);
            v
        })
    }
    fn give(&mut self, vectors: impl IntoIterator<Item = Vec<f64>>) {
        self.vectors.extend(vectors);
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// Preconditioned conjugate gradients on `A x = r0 + A x`: `residual` holds `b - A x` on entry and exit, `x` is improved
/// in place. Only for consistent systems: on inconsistent ones CG diverges (the multipliers grow without bound), so it
/// stops as soon as the residual has not improved for a while, and leaves the best answer seen.
pub(crate) fn conjugate_gradients(
    a: &mut impl Symmetric,
    residual: &mut [f64],
    x: &mut [f64],
    most: usize,
    tolerance: f64,
    over: impl Fn() -> bool,
    scratch: &mut Scratch,
) -> (usize, Ended) {
    let n = x.len();
    // Badly conditioned but consistent systems rest for about their size before they go on.
    let patience = 40 + n.min(1000);
    let [mut z, mut p, mut ap, mut best_x, mut best_r] = scratch.take::<5>(n);
    a.precondition(residual, &mut z);
    p.copy_from_slice(&z);
    let mut rz = dot(residual, &z);
    best_x.copy_from_slice(x);
    best_r.copy_from_slice(residual);
    let (mut best, mut since, mut ended, mut count) = (super::largest(residual), 0, Ended::Iterations, 0);
    while count < most {
        if best <= tolerance {
            ended = Ended::Tolerance;
            break;
        }
        if over() {
            ended = Ended::Time;
            break;
        }
        a.multiply(&p, &mut ap);
        count += 1;
        let curvature = dot(&p, &ap);
        if curvature.is_nan() || curvature <= 1e-14 * rz.abs() * 1e-2 || rz == 0.0 {
            ended = Ended::Stalled;
            break;
        }
        let alpha = rz / curvature;
        for i in 0..n {
            x[i] += alpha * p[i];
            residual[i] -= alpha * ap[i];
        }
        let now = super::largest(residual);
        if now < best {
            since = if now < 0.9 * best { 0 } else { since + 1 };
            best = now;
            best_x.copy_from_slice(x);
            best_r.copy_from_slice(residual);
        } else {
            since += 1;
        }
        if since > patience || !now.is_finite() || now > 1e6 * best {
            ended = Ended::Stalled;
            break;
        }
        a.precondition(residual, &mut z);
        let next = dot(residual, &z);
        let beta = next / rz;
        rz = next;
        for i in 0..n {
            p[i] = z[i] + beta * p[i];
        }
    }
    x.copy_from_slice(&best_x);
    residual.copy_from_slice(&best_r);
    if best <= tolerance {
        ended = Ended::Tolerance;
    }
    scratch.give([z, p, ap, best_x, best_r]);
    (count, ended)
}

/// LSMR (Fong and Saunders 2011) for `min |B y - b|^2 + damp^2 |y|^2`, tracking `lambda` with `y = B^T lambda` so that
/// answers compare with the other solvers: the bidiagonalisation's right vectors are `v = B^T p` for vectors `p` that
/// obey the same recurrence. The residual `|B^T r|` falls monotonically and `y` stays bounded at any iteration count,
/// also for conflicting rows: a truncated solve is a usable correction.
pub(crate) fn lsmr(
    b_op: &mut impl Rectangular,
    b: &[f64],
    lambda: &mut [f64],
    damp: f64,
    most: usize,
    tolerance: f64,
    over: impl Fn() -> bool,
    scratch: &mut Scratch,
) -> (usize, Ended) {
    let (n, width) = (b.len(), b_op.width());
    lambda.fill(0.0);
    let [mut u, mut p, mut h, mut hbar, mut tmp] = scratch.take::<5>(n);
    let [mut v, mut vt] = scratch.take::<2>(width);
    u.copy_from_slice(b);
    let beta1 = norm(&u);
    let mut finish = |count, ended, all: [Vec<f64>; 5], two: [Vec<f64>; 2]| {
        scratch.give(all);
        scratch.give(two);
        (count, ended)
    };
    if beta1 == 0.0 || !beta1.is_finite() {
        return finish(0, Ended::Tolerance, [u, p, h, hbar, tmp], [v, vt]);
    }
    u.iter_mut().for_each(|x| *x /= beta1);
    b_op.transpose(&u, &mut v);
    p.copy_from_slice(&u);
    let noise = b_op.noise();
    let mut alpha = norm(&v);
    if alpha <= noise {
        return finish(0, Ended::Stalled, [u, p, h, hbar, tmp], [v, vt]);
    }
    v.iter_mut().for_each(|x| *x /= alpha);
    p.iter_mut().for_each(|x| *x /= alpha);
    h.copy_from_slice(&p);
    let (mut zetabar, mut alphabar, mut rho, mut rhobar, mut cbar, mut sbar) =
        (alpha * beta1, alpha, 1.0, 1.0, 1.0, 0.0);
    // Running estimate of |r| (Fong and Saunders, section 5.1).
    let (mut betadd, mut betad, mut rhodold, mut tautilde, mut thetatilde, mut zeta, mut d) =
        (beta1, 0.0, 1.0_f64, 0.0, 0.0, 0.0, 0.0);
    let (mut count, mut ended, first) = (0, Ended::Iterations, alpha * beta1);
    while count < most {
        if over() {
            ended = Ended::Time;
            break;
        }
        count += 1;
        // Bidiagonalisation.
        b_op.forward(&v, &mut tmp);
        for i in 0..n {
            u[i] = tmp[i] - alpha * u[i];
        }
        let beta = norm(&u);
        if beta > 0.0 {
            u.iter_mut().for_each(|x| *x /= beta);
            b_op.transpose(&u, &mut vt);
            for i in 0..width {
                v[i] = vt[i] - beta * v[i];
            }
            for i in 0..n {
                p[i] = u[i] - beta * p[i];
            }
            alpha = norm(&v);
            if alpha <= noise {
                alpha = 0.0;
            }
            if alpha > 0.0 {
                v.iter_mut().for_each(|x| *x /= alpha);
                p.iter_mut().for_each(|x| *x /= alpha);
            }
        } else {
            alpha = 0.0;
        }
        // Rotations.
        let alphahat = alphabar.hypot(damp);
        let (chat, shat) = (alphabar / alphahat, damp / alphahat);
        let rhoold = rho;
        rho = alphahat.hypot(beta);
        let (c, s) = (alphahat / rho, beta / rho);
        let thetanew = s * alpha;
        alphabar = c * alpha;
        let (rhobarold, zetaold) = (rhobar, zeta);
        let thetabar = sbar * rho;
        let rhotemp = cbar * rho;
        rhobar = rhotemp.hypot(thetanew);
        cbar = rhotemp / rhobar;
        sbar = thetanew / rhobar;
        zeta = cbar * zetabar;
        zetabar *= -sbar;
        let back = thetabar * rho / (rhoold * rhobarold);
        let forth = zeta / (rho * rhobar);
        let turn = thetanew / rho;
        for i in 0..n {
            hbar[i] = h[i] - back * hbar[i];
            lambda[i] += forth * hbar[i];
            h[i] = p[i] - turn * h[i];
        }
        // |r|.
        let betaacute = chat * betadd;
        let betacheck = -shat * betadd;
        let betahat = c * betaacute;
        betadd = -s * betaacute;
        let thetatildeold = thetatilde;
        let rhotildeold = rhodold.hypot(thetabar);
        let (ctilde, stilde) = (rhodold / rhotildeold, thetabar / rhotildeold);
        thetatilde = stilde * rhobar;
        rhodold = ctilde * rhobar;
        betad = -stilde * betad + ctilde * betahat;
        tautilde = (zetaold - thetatildeold * tautilde) / rhotildeold;
        let taud = (zeta - thetatilde * tautilde) / rhodold;
        d += betacheck * betacheck;
        let r = (d + (betad - taud).powi(2) + betadd * betadd).sqrt();
        if r <= tolerance {
            ended = Ended::Tolerance;
            break;
        }
        // |B^T r| is rounding: nothing better exists.
        if zetabar.abs() <= 1e-14 * first || alpha == 0.0 || !zetabar.is_finite() {
            ended = Ended::Stalled;
            break;
        }
    }
    finish(count, ended, [u, p, h, hbar, tmp], [v, vt])
}
