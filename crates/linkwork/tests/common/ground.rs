//! A floor, and things of the same surface to put on it: what the tests of contact share.

use linkwork::{Material, MaterialId, Mechanism, PlacedShape, Solid, SolidId, Vector};

/// A mechanism with a floor of this friction and restitution.
pub fn floor(friction: f64, restitution: f64) -> Mechanism {
    let mut m = Mechanism::new();
    m.add_material(Material { name: "all".into(), friction, restitution, ..Material::default() }).unwrap();
    let plane = Solid { shapes: vec![PlacedShape::plane(Vector::Y)], ..Solid::fixed("floor") };
    m.add_solid(Solid { material: Some(MaterialId(0)), ..plane }).unwrap();
    m
}

/// One more solid, of the floor's surface.
pub fn add(m: &mut Mechanism, name: &str, shape: PlacedShape, mass: f64, at: [f64; 3]) -> SolidId {
    let solid = Solid::new(name).with_shape(shape, mass).at(at[0], at[1], at[2]);
    m.add_solid(Solid { material: Some(MaterialId(0)), ..solid }).unwrap()
}
