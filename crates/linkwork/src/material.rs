//! Surfaces: friction, restitution, resistance to rolling and spinning, and a soft coat.

/// How a surface behaves in contact.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// Unique among materials.
    pub name: String,
    /// Coulomb coefficient, >= 0.
    pub friction: f64,
    /// Bounce, 0..1.
    pub restitution: f64,
    /// Lever of the resistance to rolling, metres: the torque is at most this times the pressure. >= 0.
    pub rolling: f64,
    /// Lever of the resistance to spinning about the normal, metres. >= 0.
    pub spinning: f64,
    /// Stiffness of a soft coat per point of contact, N/m; `None` is rigid.
    pub stiffness: Option<f64>,
    /// Damping of the soft coat per point of contact, N s/m.
    pub damping: f64,
}

impl Default for Material {
    fn default() -> Self {
        Self {
            name: String::new(),
            friction: 0.5,
            restitution: 0.0,
            rolling: 0.0,
            spinning: 0.0,
            stiffness: None,
            damping: 0.0,
        }
    }
}
