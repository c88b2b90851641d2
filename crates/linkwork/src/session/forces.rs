//! What joints pull with, for whoever draws it.

use super::Session;
use crate::joint::JointId;
use crate::math::Vector;

impl Session {
    /// The force of each joint of the scene on its second solid, at its anchor, at the end of the last step. Empty where
    /// no time passed, or where the method leaves no forces.
    pub fn joint_forces(&self) -> Vec<(JointId, Vector)> {
        if !self.forces_known {
            return Vec::new();
        }
        let own = self.base.joints().len();
        let all = self.workspace.remembered_reactions();
        all.into_iter().filter(|(j, _)| j.index() < own).map(|(j, r)| (j, r.force)).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::session::{Command, Session};

    #[test]
    fn a_hanging_weight_pulls_with_its_weight() {
        let text =
            "solid bob: shape sphere 0.1; mass 2; at 0 -1 0; end joint ball; object2 bob; frame2 0 1 0; end";
        let mut s = Session::open(text, &mut |_| Err("none".into())).unwrap();
        assert!(s.joint_forces().is_empty());
        s.apply(Command::Run { on: true }).unwrap();
        let clock = || 0.0;
        (0..10).for_each(|_| drop(s.tick(1.0 / 60.0, &clock)));
        let forces = s.joint_forces();
        assert_eq!(forces.len(), 1);
        assert!((forces[0].1.y - 2.0 * 9.81).abs() < 0.05, "{forces:?}");
    }
}
