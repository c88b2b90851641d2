//! The upper level against every possible active set, and the ways against each other.

use super::*;
use crate::math::Random;
use crate::rows::Push;

/// A lower level that is nothing but a matrix: one coordinate a solid.
struct Matrix {
    n: usize,
    r: Vec<f64>,
}

impl Lower for Matrix {
    fn solids(&self) -> usize {
        self.n
    }
    fn respond(&mut self, push: &[[f64; 6]], out: &mut [[f64; 6]]) {
        for i in 0..self.n {
            out[i] = [0.0; 6];
            out[i][0] = (0..self.n).map(|j| self.r[i * self.n + j] * push[j][0]).sum();
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Sort {
    Regular,
    /// The last rows repeat the first, and ask for the same.
    Redundant,
    /// The same up to 1e-9.
    Nearly,
    /// The last rows repeat the first, and ask for something else.
    Contradicting,
}

struct Case {
    lower: Matrix,
    rows: UpperRows,
    asks: Vec<Ask>,
    /// Full `W`, for the reference.
    w: Vec<f64>,
}

pub(super) fn pick(random: &mut Random, n: usize) -> usize {
    ((random.signed() * 0.5 + 0.5) * n as f64) as usize
}

pub(super) fn random_ask(random: &mut Random) -> Ask {
    let (a, b) = (random.signed(), random.signed());
    let (low, high) = match pick(random, 5) {
        0 => (a, a),
        1 => (a, f64::INFINITY),
        2 => (f64::NEG_INFINITY, a),
        3 => (a.min(b), a.max(b)),
        _ => (-0.2, 0.3),
    };
    let push = match pick(random, 6) {
        0 => Push::Within(random.signed().abs()),
        1 => Push::Within(0.3),
        2 => Push::Positive,
        3 => Push::Negative,
        _ => Push::Any,
    };
    let give = if pick(random, 4) == 0 { random.signed().abs() } else { 0.0 };
    Ask { low, high, give, push }
}

/// `units`: the rows come in units from 1e-6 to 1e6.
fn random_case(random: &mut Random, n: usize, sort: Sort, units: bool) -> Case {
    let k = n + 1;
    let b: Vec<f64> = (0..k * k).map(|_| random.signed()).collect();
    let dot = |i: usize, j: usize| (0..k).map(|l| b[i * k + l] * b[j * k + l]).sum::<f64>();
    let lower = Matrix { n: k, r: (0..k * k).map(|e| dot(e / k, e % k)).collect() };
    let mut j: Vec<Vec<f64>> = (0..n).map(|_| (0..k).map(|_| random.signed()).collect()).collect();
    let mut asks: Vec<Ask> = (0..n).map(|_| random_ask(random)).collect();
    if sort != Sort::Regular {
        let half = n.div_ceil(2);
        for r in half..n {
            let noise: Vec<f64> = (0..k).map(|_| random.signed() * 1e-9).collect();
            j[r] = j[r - half].clone();
            if sort == Sort::Nearly {
                j[r].iter_mut().zip(&noise).for_each(|(j, e)| *j += e);
            }
            let own = asks[r];
            asks[r] = Ask { give: 0.0, ..asks[r - half] };
            asks[r - half].give = 0.0;
            if sort == Sort::Contradicting {
                (asks[r].low, asks[r].high) = (own.low, own.high);
            }
        }
    }
    for r in 0..n {
        let unit = if units { 10.0_f64.powf(6.0 * random.signed()) } else { 1.0 };
        j[r].iter_mut().for_each(|j| *j *= unit);
        let a = &mut asks[r];
        (a.low, a.high, a.give) = (a.low * unit, a.high * unit, a.give * unit * unit);
        if let Push::Within(most) = &mut a.push {
            *most /= unit;
        }
    }
    let mut rows = UpperRows::default();
    for j in &j {
        let ends: Vec<_> = j.iter().enumerate().map(|(s, j)| (s, [*j, 0.0, 0.0, 0.0, 0.0, 0.0])).collect();
        rows.push(&ends);
    }
    let w = (0..n * n)
        .map(|e| {
            let at = |a: usize, b: usize| j[e / n][a] * lower.r[a * k + b] * j[e % n][b];
            (0..k * k).map(|e| at(e / k, e % k)).sum()
        })
        .collect();
    Case { lower, rows, asks, w }
}

/// Gaussian elimination with row pivoting.
fn solve_dense(a: &mut [Vec<f64>], b: &mut [f64]) {
    let n = b.len();
    for k in 0..n {
        let p = (k..n).max_by(|i, j| a[*i][k].abs().total_cmp(&a[*j][k].abs())).unwrap();
        a.swap(k, p);
        b.swap(k, p);
        for i in k + 1..n {
            let f = a[i][k] / a[k][k];
            for j in k..n {
                a[i][j] -= f * a[k][j];
            }
            b[i] -= f * b[k];
        }
    }
    for k in (0..n).rev() {
        let sum: f64 = (k + 1..n).map(|j| a[k][j] * b[j]).sum();
        b[k] = (b[k] - sum) / a[k][k];
    }
}

/// Tries every active set of the problem scaled to a unit diagonal and regularised by `eps`; the multipliers (scaled) that
/// come nearest to complementarity, and how near.
fn enumerate(case: &Case, eps: f64) -> (Vec<f64>, f64) {
    let n = case.asks.len();
    let root: Vec<f64> = (0..n).map(|r| (case.w[r * n + r] + case.asks[r].give).sqrt()).collect();
    let curves: Vec<Curve> = (0..n).map(|r| Curve::new(&case.asks[r], root[r])).collect();
    let a = |r: usize, s: usize| {
        if r == s { 1.0 } else { case.w[r * n + s] / (root[r] * root[s]) }
    };
    let give = |r: usize| (eps - case.asks[r].give / (root[r] * root[r])).max(0.0);
    let mut best = (vec![0.0; n], f64::INFINITY);
    for code in 0..5_usize.pow(n as u32) {
        let place = |r: usize| code / 5_usize.pow(r as u32) % 5;
        let fixed = |r: usize| match place(r) {
            0 => Some(curves[r].least),
            1 => Some(0.0),
            2 => Some(curves[r].most),
            _ => None,
        };
        let end = |r: usize| if place(r) == 3 { curves[r].low } else { curves[r].high };
        let sensible = |r: usize| fixed(r).unwrap_or_else(|| end(r)).is_finite();
        if !(0..n).all(sensible) {
            continue;
        }
        let free: Vec<usize> = (0..n).filter(|r| fixed(*r).is_none()).collect();
        let mut m: Vec<Vec<f64>> = free
            .iter()
            .map(|r| free.iter().map(|s| a(*r, *s) + if r == s { give(*r) } else { 0.0 }).collect())
            .collect();
        let known = |r: usize| (0..n).map(|s| a(r, s) * fixed(s).unwrap_or(0.0)).sum::<f64>();
        let mut b: Vec<f64> = free.iter().map(|r| end(*r) - known(*r)).collect();
        solve_dense(&mut m, &mut b);
        let mut lambda: Vec<f64> = (0..n).map(|r| fixed(r).unwrap_or(0.0)).collect();
        free.iter().zip(&b).for_each(|(r, l)| lambda[*r] = *l);
        let mut left = 0.0;
        for r in 0..n {
            let y = (0..n).map(|s| a(r, s) * lambda[s]).sum::<f64>() + give(r) * lambda[r];
            left = larger(left, curves[r].residual(lambda[r], y, 1.0));
            left = larger(left, (lambda[r] - curves[r].most).max(curves[r].least - lambda[r]).max(0.0));
        }
        if left < best.1 {
            best = (lambda, left);
        }
    }
    // Changes instead of multipliers, which dependent rows leave open.
    let y = (0..n).map(|r| (0..n).map(|s| a(r, s) * best.0[s]).sum()).collect();
    (y, best.1)
}

fn solve_case(case: &mut Case, way: Way, force: &mut [f64]) -> (Upper, UpperReport) {
    let mut upper = Upper::default();
    let work = UpperWork {
        way,
        work: Work { iterations: 200_000, tolerance: 1e-11, ..Work::default() },
        ..UpperWork::default()
    };
    let report = solve_upper(&mut case.lower, &case.rows, &case.asks, force, &mut upper, &work);
    (upper, report)
}

/// Signs and sizes, to the last bit.
pub(super) fn assert_allowed(asks: &[Ask], force: &[f64], change: &[f64]) {
    for ((ask, f), y) in asks.iter().zip(force).zip(change) {
        let (least, most) = ask.push.range();
        assert!(least <= *f && *f <= most, "{f} is not within {ask:?}");
        assert!(f.is_finite() && y.is_finite());
        if ask.high == f64::INFINITY {
            assert!(*f >= 0.0, "{f} pulls: {ask:?}");
        }
        if ask.low == f64::NEG_INFINITY {
            assert!(*f <= 0.0, "{f} pulls: {ask:?}");
        }
    }
}

fn against_enumeration(sort: Sort, units: bool, tolerance: f64, cases: usize) {
    let mut random = Random::new(11);
    let mut worst = 0.0_f64;
    for k in 0..cases {
        let n = 1 + k % 5;
        let mut case = random_case(&mut random, n, sort, units);
        let eps = if sort == Sort::Regular { 0.0 } else { 1e-8 };
        let (expected, near) = enumerate(&case, eps);
        // Contradictions are solved with multipliers of 1e8: the reference has eight digits less.
        let good = if sort == Sort::Contradicting { 1e-6 } else { 1e-9 };
        assert!(near < good, "{sort:?} {k}: the reference itself is off by {near}");
        let mut force: Vec<f64> =
            (0..n).map(|_| if k % 3 == 0 { random.signed() * 3.0 } else { 0.0 }).collect();
        let (upper, report) = solve_case(&mut case, Way::Exact, &mut force);
        assert!(report.exact && report.rows == n && report.stuck == 0);
        assert_allowed(&case.asks, &force, &upper.change);
        for r in 0..n {
            let ask = &case.asks[r];
            let root = (case.w[r * n + r] + ask.give).sqrt();
            let y = (upper.change[r] + ask.give * force[r]) / root;
            let off = (y - expected[r]).abs();
            worst = worst.max(off);
            assert!(off < tolerance, "{sort:?} {k}: row {r} of {n} off by {off}, {report:?}");
            // Multipliers stay of the size of what is asked, contradictions included.
            if sort == Sort::Contradicting {
                assert!((force[r] * root).abs() < 1e4, "{k}: {force:?}");
            }
        }
        if sort != Sort::Contradicting && sort != Sort::Nearly && !units {
            assert!(report.residual < 1e-9, "{sort:?} {k}: {report:?}");
        }
    }
    assert!(worst > 0.0);
}

#[test]
fn exact_is_what_trying_all_active_sets_finds() {
    against_enumeration(Sort::Regular, false, 1e-9, 2000);
}

#[test]
fn units_do_not_matter() {
    against_enumeration(Sort::Regular, true, 1e-9, 1000);
    against_enumeration(Sort::Redundant, true, 1e-6, 500);
    against_enumeration(Sort::Contradicting, true, 1e-6, 500);
}

#[test]
fn redundant_rows_share_the_force() {
    against_enumeration(Sort::Redundant, false, 1e-6, 1000);
}

#[test]
fn nearly_redundant_rows_share_it_too() {
    against_enumeration(Sort::Nearly, false, 1e-6, 1000);
}

#[test]
fn contradictions_end_in_the_least_squares_motion_with_small_forces() {
    against_enumeration(Sort::Contradicting, false, 1e-6, 1000);
}

#[test]
fn known_contradictions() {
    // x >= 1 and x <= 0: in the middle, and one of the two pushes.
    let mut lower = Matrix { n: 1, r: vec![1.0] };
    let mut rows = UpperRows::default();
    rows.push(&[(0, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])]);
    rows.push(&[(0, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])]);
    let any = Push::Any;
    let asks = [
        Ask { low: 1.0, high: f64::INFINITY, give: 0.0, push: any },
        Ask { low: f64::NEG_INFINITY, high: 0.0, give: 0.0, push: any },
    ];
    for way in [Way::Exact, Way::Iterative] {
        let (mut upper, mut force) = (Upper::default(), [0.0; 2]);
        let work = UpperWork { way, ..UpperWork::default() };
        let report = solve_upper(&mut lower, &rows, &asks, &mut force, &mut upper, &work);
        assert!(force[0] >= 0.0 && force[1] <= 0.0, "{force:?}");
        assert!((upper.change[0] - 0.5).abs() < 1e-2, "{way:?}: {:?} {force:?} {report:?}", upper.change);
        assert!(report.residual > 0.4);
        if way == Way::Exact {
            assert!((upper.change[0] - 0.5).abs() < 1e-7);
            assert!((force[0] - 0.5).abs() < 1e-6 && force[1].abs() < 1e-6, "{force:?}");
        }
    }
}

#[test]
fn a_row_that_nothing_moves_is_counted_and_stalls() {
    let mut lower = Matrix { n: 2, r: vec![1.0, 0.0, 0.0, 0.0] };
    let mut rows = UpperRows::default();
    for solid in [0, 1, 1] {
        rows.push(&[(solid, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])]);
    }
    let motor = Ask { push: Push::Within(7.0), ..Ask::equal(-2.0) };
    for way in [Way::Exact, Way::Iterative] {
        let asks = [Ask::equal(3.0), motor, Ask::equal(0.5)];
        let (mut upper, mut force) = (Upper::default(), [0.0; 3]);
        let work = UpperWork { way, ..UpperWork::default() };
        let report = solve_upper(&mut lower, &rows, &asks, &mut force, &mut upper, &work);
        assert_eq!(report.stuck, 2);
        assert!((force[0] - 3.0).abs() < 1e-12, "{force:?}");
        assert_eq!(force[1..], [-7.0, 0.0]);
        assert!((report.residual - 0.5).abs() < 1e-12, "what the joints forbid is not met: {report:?}");
    }
}

#[test]
fn what_is_not_a_number_pushes_nothing() {
    let mut random = Random::new(3);
    let mut case = random_case(&mut random, 3, Sort::Regular, false);
    case.lower.r[0] = f64::NAN;
    for way in [Way::Exact, Way::Iterative] {
        let mut force = [0.0; 3];
        let (upper, report) = solve_case(&mut case, way, &mut force);
        assert!(report.residual.is_nan() && force == [0.0; 3] && upper.motion.iter().all(|m| *m == [0.0; 6]));
    }
    let (mut upper, mut none) = (Upper::default(), []);
    let work = UpperWork::default();
    let report = solve_upper(&mut case.lower, &UpperRows::default(), &[], &mut none, &mut upper, &work);
    assert_eq!((report.rows, report.residual), (0, 0.0));
}

#[test]
fn iterations_agree_with_pivoting() {
    let mut random = Random::new(5);
    for k in 0..100 {
        let n = 2 + k % 9;
        let sort = if k % 2 == 0 { Sort::Regular } else { Sort::Redundant };
        let mut case = random_case(&mut random, n, sort, k % 4 > 1);
        let (mut exact, mut iterated) = (vec![0.0; n], vec![0.0; n]);
        let (a, _) = solve_case(&mut case, Way::Exact, &mut exact);
        let (b, report) = solve_case(&mut case, Way::Iterative, &mut iterated);
        assert!(!report.exact);
        assert_allowed(&case.asks, &iterated, &b.change);
        for r in 0..n {
            let root = (case.w[r * n + r] + case.asks[r].give).sqrt();
            let give = case.asks[r].give;
            let off = (a.change[r] + give * exact[r] - b.change[r] - give * iterated[r]) / root;
            assert!(off.abs() < 1e-4, "{k}: row {r} of {n} off by {off}, {report:?}");
        }
        // A warm start that is right costs nothing, as long as the tolerance is above the rounding of the rows.
        if k % 4 <= 1 {
            let (_, again) = solve_case(&mut case, Way::Iterative, &mut exact.clone());
            assert!(again.rounds <= report.rounds, "{k}: {again:?} after {report:?}");
        }
    }
}

/// Cycling is what block pivoting alone would do here and there; enough rows that pivots meet.
#[test]
fn larger_problems_end_and_are_complementary() {
    let mut random = Random::new(8);
    for k in 0..30 {
        let n = 10 + 3 * k;
        let mut case = random_case(&mut random, n, Sort::Regular, false);
        let mut force = vec![0.0; n];
        let (upper, report) = solve_case(&mut case, Way::Exact, &mut force);
        assert_allowed(&case.asks, &force, &upper.change);
        assert!(report.residual < 1e-6, "{n}: {report:?}");
        assert!(report.rounds < 40 + n, "{n}: {report:?}");
        let mut again = vec![0.0; n];
        let (other, second) = solve_case(&mut case, Way::Exact, &mut again);
        assert_eq!((force, upper.motion, report), (again, other.motion, second), "the same bits");
    }
}

#[test]
fn few_rows_are_pivoted_on_and_many_are_not() {
    let work = Work::default();
    assert!(exact_is_cheaper(3, 1e4, &work), "a hand on a ladder");
    assert!(exact_is_cheaper(100, 1e5, &work));
    assert!(!exact_is_cheaper(2000, 1e4, &work), "a heap");
    assert!(!exact_is_cheaper(200, 1e5, &Work { iterations: 10, ..work }), "a small budget");
}
