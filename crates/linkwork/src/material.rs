//! Surfaces: friction, restitution and a soft coat.

/// How a surface behaves in contact.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// Unique among materials.
    pub name: String,
    /// Coulomb coefficient, >= 0.
    pub friction: f64,
    /// Bounce, 0..1.
    pub restitution: f64,
    /// Stiffness of a soft coat; `None` is rigid.
    pub stiffness: Option<f64>,
    /// Damping of the soft coat.
    pub damping: f64,
}

impl Default for Material {
    fn default() -> Self {
        Self { name: String::new(), friction: 0.5, restitution: 0.0, stiffness: None, damping: 0.0 }
    }
}
