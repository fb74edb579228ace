//! governor's side of the comparison; peers.cc is its twin, loop for loop.
//!
//!     peers CASE...      prints one line for each: the case and nanoseconds a decision

use std::arch::asm;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use governor::clock::{Clock, Reference};
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::DashMapStateStore;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};

const BATCH: u64 = 4096;
const BATCHES: u64 = 512;
const SAMPLES: usize = 7;
const KEYS: u64 = 1_000_000;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanos: i64,
}

extern "C" {
    fn clock_gettime(id: i32, time: *mut Timespec) -> i32;
}

const CLOCK_MONOTONIC: i32 = 1;
const CLOCK_THREAD_CPUTIME_ID: i32 = 3;

fn nanos_of(id: i32) -> u64 {
    let mut time = Timespec { seconds: 0, nanos: 0 };
    // SAFETY: `time` is a valid timespec.
    unsafe { clock_gettime(id, &mut time) };
    time.seconds as u64 * 1_000_000_000 + time.nanos as u64
}

/// Reads one cached word; `sample` brings it up to date before each batch.
#[derive(Clone)]
struct CachedClock(Arc<AtomicU64>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CachedInstant(u64);

impl std::ops::Add<Nanos> for CachedInstant {
    type Output = CachedInstant;
    fn add(self, other: Nanos) -> CachedInstant {
        CachedInstant(self.0 + other.as_u64())
    }
}

impl Reference for CachedInstant {
    fn duration_since(&self, earlier: Self) -> Nanos {
        self.0.saturating_sub(earlier.0).into()
    }
    fn saturating_sub(&self, duration: Nanos) -> Self {
        CachedInstant(self.0.saturating_sub(duration.into()))
    }
}

impl Clock for CachedClock {
    type Instant = CachedInstant;
    fn now(&self) -> CachedInstant {
        CachedInstant(self.0.load(Ordering::Relaxed))
    }
}

impl CachedClock {
    fn new() -> Self {
        CachedClock(Arc::new(AtomicU64::new(nanos_of(CLOCK_MONOTONIC))))
    }
    fn update(&self) {
        self.0.store(nanos_of(CLOCK_MONOTONIC), Ordering::Relaxed);
    }
}

#[inline(always)]
fn opaque(mut word: u64) -> u64 {
    // SAFETY: empty; only keeps the compiler from seeing through.
    unsafe { asm!("/* {0} */", inout(reg) word) };
    word
}

#[inline(always)]
fn consume(result: bool) {
    // SAFETY: as above.
    unsafe { asm!("/* {0} */", in(reg) result as u64) };
}

fn sample(clock: &CachedClock, decide: &mut impl FnMut(u64) -> bool) -> f64 {
    let mut x: u64 = 88_172_645_463_325_252;
    let begin = nanos_of(CLOCK_THREAD_CPUTIME_ID);
    for _ in 0..BATCHES {
        clock.update();
        for _ in 0..BATCH {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            consume(decide(opaque(x)));
        }
    }
    (nanos_of(CLOCK_THREAD_CPUTIME_ID) - begin) as f64 / (BATCH * BATCHES) as f64
}

fn measure(clock: &CachedClock, mut decide: impl FnMut(u64) -> bool) -> f64 {
    let mut samples: Vec<f64> = (0..SAMPLES).map(|_| sample(clock, &mut decide)).collect();
    samples.sort_by(f64::total_cmp);
    samples[SAMPLES / 2]
}

fn fast() -> Quota {
    Quota::per_second(NonZeroU32::new(1_000_000_000).unwrap())
}

fn slow() -> Quota {
    Quota::with_period(Duration::from_secs(3600)).unwrap()
}

type Direct = RateLimiter<NotKeyed, InMemoryState, CachedClock, NoOpMiddleware<CachedInstant>>;
type Keyed<K> =
    RateLimiter<K, DashMapStateStore<K>, CachedClock, NoOpMiddleware<CachedInstant>>;

fn one_key(quota: Quota) -> f64 {
    let clock = CachedClock::new();
    let limiter: Direct = RateLimiter::direct_with_clock(quota, clock.clone());
    let _ = limiter.check();
    measure(&clock, |_| limiter.check().is_ok())
}

fn key_of(x: u64) -> u64 {
    ((x as u128 * KEYS as u128) >> 64) as u64
}

fn integer_keys() -> f64 {
    let clock = CachedClock::new();
    let limiter: Keyed<u64> = RateLimiter::dashmap_with_clock(fast(), clock.clone());
    for key in 0..KEYS {
        let _ = limiter.check_key(&key);
    }
    measure(&clock, |x| limiter.check_key(&key_of(x)).is_ok())
}

fn string_keys() -> f64 {
    let clock = CachedClock::new();
    let limiter: Keyed<String> = RateLimiter::dashmap_with_clock(fast(), clock.clone());
    let names: Vec<String> = (0..KEYS).map(|key| format!("tenant-{key:012}")).collect();
    for name in &names {
        let _ = limiter.check_key(name);
    }
    measure(&clock, |x| limiter.check_key(&names[key_of(x) as usize]).is_ok())
}

fn main() {
    for case in std::env::args().skip(1) {
        let nanos = match case.as_str() {
            "loop" => measure(&CachedClock::new(), |x| x != 0),
            "allow" => one_key(fast()),
            "deny" => one_key(slow()),
            "keyed_1m" => integer_keys(),
            "keyed_1m_strings" => string_keys(),
            _ => panic!("unknown case {case}: loop, allow, deny, keyed_1m, keyed_1m_strings"),
        };
        println!("{case} {nanos:.3}");
    }
}
