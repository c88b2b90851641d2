//! What the machine itself can do, measured in the same run as everything else, and how times are taken.

use serde_json::{Value, json};
use std::hint::black_box;
use std::time::Instant;

/// Seconds of the fastest call. Repeats for `budget` seconds, but at least `least` times: the machine may be shared,
/// and the minimum is what the work itself takes.
pub fn fastest(budget: f64, least: usize, mut f: impl FnMut()) -> f64 {
    let (start, mut best, mut n) = (Instant::now(), f64::INFINITY, 0);
    while n < least || start.elapsed().as_secs_f64() < budget {
        let t = Instant::now();
        f();
        best = best.min(t.elapsed().as_secs_f64());
        n += 1;
    }
    best
}

/// Floating-point operations a second of plain 3 x 3 block multiply-adds, `C += A B`, in the nearest cache: a multiply
/// and an add count as two. What a block factorisation could reach if it never waited for memory or indices. With wide
/// registers where the machine has them, like the factorisation itself; multiplications and additions stay separate.
pub fn flops_per_second() -> f64 {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the feature was just detected.
        #[allow(unsafe_code)]
        return kernel(|a, b, c| unsafe { sweep_avx2(a, b, c) });
    }
    plain_flops_per_second()
}

/// The same with the registers that every machine of its kind has.
pub fn plain_flops_per_second() -> f64 {
    kernel(sweep)
}

const N: usize = 8;

/// A block on a cache line's boundary: the figure must not depend on where the memory happens to be.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Block([f64; 9]);

fn kernel(f: impl Fn(&[Block], &[Block], &mut [Block])) -> f64 {
    const SWEEPS: usize = 400;
    let a: Vec<Block> = (0..N).map(|i| Block([1e-3 * i as f64; 9])).collect();
    let b: Vec<Block> = (0..N).map(|i| Block([1e-3 * (N - i) as f64; 9])).collect();
    let mut c = vec![Block([0.0; 9]); N * N];
    let seconds = fastest(0.1, 10, || {
        for _ in 0..SWEEPS {
            f(black_box(&a), black_box(&b), &mut c);
        }
        black_box(&mut c);
    });
    (SWEEPS * N * N * 54) as f64 / seconds
}

#[inline(always)]
fn sweep(a: &[Block], b: &[Block], c: &mut [Block]) {
    for (Block(a), row) in a.iter().zip(c.chunks_exact_mut(N)) {
        for (Block(b), Block(c)) in b.iter().zip(row) {
            for i in 0..3 {
                for j in 0..3 {
                    c[3 * i + j] += a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sweep_avx2(a: &[Block], b: &[Block], c: &mut [Block]) {
    sweep(a, b, c);
}

/// Model, cores and the kernel's figure.
pub fn describe() -> Value {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = info.lines().find(|l| l.starts_with(name));
        line.and_then(|l| l.split(':').nth(1)).map(|s| s.trim().to_owned()).unwrap_or_default()
    };
    json!({
        "model": field("model name"),
        "mhz": field("cpu MHz"),
        "cores": std::thread::available_parallelism().map_or(1, |n| n.get()),
        "gflops": flops_per_second() / 1e9,
        "gflops without wide registers": plain_flops_per_second() / 1e9,
    })
}

/// Seconds that this thread has run, as the scheduler counts them. It looks once in a few milliseconds, so only sums over many
/// frames mean something; on a machine that others use they mean more than the clock on the wall.
pub fn thread_time() -> Option<f64> {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    line.split_whitespace().next()?.parse::<f64>().ok().map(|ns| 1e-9 * ns)
}
