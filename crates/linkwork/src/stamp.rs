//! Has anybody changed it? A change stamp beside a value: whoever takes the value to write wipes it out, so that two values
//! with the same stamp are the same to the bit, and need not be compared.
//!
//! It is no part of the value: it is neither saved nor compared, and no result depends on it. It only tells a workspace that
//! nothing happened since it last looked.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};

/// A value that knows whether somebody may have changed it. Reads and writes like the value itself.
#[derive(Debug, Default)]
pub struct Stamped<T> {
    value: T,
    /// Zero: anything may have happened.
    stamp: u64,
}

/// What this value is from now on recognised by, until somebody may have changed it.
fn next() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl<T> Stamped<T> {
    /// The value alone.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// Gives it a stamp of its own, and tells which.
    pub(crate) fn seal(&mut self) -> u64 {
        self.stamp = next();
        self.stamp
    }

    /// Nobody had it to write since it was sealed like that, or it is a copy of such a one.
    pub(crate) fn bears(&self, stamp: u64) -> bool {
        stamp != 0 && self.stamp == stamp
    }
}

impl<T> From<T> for Stamped<T> {
    fn from(value: T) -> Self {
        Self { value, stamp: 0 }
    }
}

impl<T> Deref for Stamped<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Stamped<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        self.stamp = 0;
        &mut self.value
    }
}

/// A copy is the same to the bit. By hand, so that steps can copy in place.
impl<T: Clone> Clone for Stamped<T> {
    fn clone(&self) -> Self {
        Self { value: self.value.clone(), stamp: self.stamp }
    }
    fn clone_from(&mut self, from: &Self) {
        self.value.clone_from(&from.value);
        self.stamp = from.stamp;
    }
}

impl<T: PartialEq> PartialEq for Stamped<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<'a, T> IntoIterator for &'a Stamped<T>
where
    &'a T: IntoIterator,
{
    type Item = <&'a T as IntoIterator>::Item;
    type IntoIter = <&'a T as IntoIterator>::IntoIter;
    fn into_iter(self) -> Self::IntoIter {
        (&self.value).into_iter()
    }
}

impl<T: Serialize> Serialize for Stamped<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(s)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Stamped<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(T::deserialize(d)?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::Stamped;

    #[test]
    fn who_may_have_written_wipes_the_stamp_out() {
        let mut list = Stamped::from(vec![1, 2, 3]);
        assert!(!list.bears(0));
        let stamp = list.seal();
        assert_eq!(list[1] + list.iter().sum::<i32>() + list.len() as i32, 11);
        let copy = list.clone();
        assert!(list.bears(stamp) && copy.bears(stamp));
        list[1] = 2;
        assert!(!list.bears(stamp) && list == copy);
        list.clone_from(&copy);
        assert!(list.bears(stamp));
        // What is sealed again is told from what it was, and what is exchanged takes its stamp along.
        let mut other = Stamped::from(vec![4]);
        let others = other.seal();
        std::mem::swap(&mut list, &mut other);
        assert!(list.bears(others) && other.bears(stamp) && !list.bears(stamp));
        assert!(!Stamped::<Vec<i32>>::default().bears(0));
    }
}
