//! Room for the updates of fronts: fixed when the topology is, and used again as soon as it can be.

/// Where in a pool of numbers updates live; a place is free again once the parent has taken it.
#[derive(Default)]
pub(crate) struct Pool {
    free: Vec<(usize, usize)>,
    pub len: usize,
}

impl Pool {
    pub fn take(&mut self, need: usize) -> usize {
        if need == 0 {
            return 0;
        }
        match self.free.iter().position(|(_, len)| *len >= need) {
            Some(i) => {
                let (at, len) = self.free[i];
                if len == need {
                    self.free.remove(i);
                } else {
                    self.free[i] = (at + need, len - need);
                }
                at
            }
            None => {
                // The last free place grows, if it is at the end.
                let at = match self.free.last() {
                    Some((at, len)) if at + len == self.len => *at,
                    _ => self.len,
                };
                if at < self.len {
                    self.free.pop();
                }
                self.len = at + need;
                at
            }
        }
    }

    /// Gives a place back, joined with its free neighbours.
    pub fn release(&mut self, at: usize, len: usize) {
        if len == 0 {
            return;
        }
        let free = &mut self.free;
        let i = free.partition_point(|s| s.0 < at);
        free.insert(i, (at, len));
        if i + 1 < free.len() && free[i].0 + free[i].1 == free[i + 1].0 {
            free[i].1 += free[i + 1].1;
            free.remove(i + 1);
        }
        if i > 0 && free[i - 1].0 + free[i - 1].1 == free[i].0 {
            free[i - 1].1 += free[i].1;
            free.remove(i);
        }
    }
}
