//! The scenes of contact that are measured, the same for everybody.

use linkwork::math::Random;
use linkwork::{Joint, Material, MaterialId, Mechanism, PlacedShape, Pose, Rotation, Solid, SolidId, Vector};

/// A scene and how long it is followed.
pub struct Scene {
    /// What it is.
    pub name: String,
    /// Solids and joints.
    pub m: Mechanism,
    /// Frames of 1/60 s.
    pub frames: usize,
}

/// A mechanism with one material for everything.
fn empty(friction: f64, restitution: f64) -> Mechanism {
    let mut m = Mechanism::new();
    m.gravity = Vector::new(0.0, -9.81, 0.0);
    let surface = Material { name: "all".into(), friction, restitution, ..Material::default() };
    m.add_material(surface).expect("a surface of the benchmark");
    m
}

fn add(m: &mut Mechanism, solid: Solid) {
    let solid = Solid { material: Some(MaterialId(0)), ..solid };
    m.add_solid(solid).expect("a solid of the benchmark");
}

fn floor(m: &mut Mechanism) {
    add(m, Solid { shapes: vec![PlacedShape::plane(Vector::Y)], ..Solid::fixed("floor") });
}

/// `n` boxes of about half a metre, turned at random, fall into a pit.
pub fn pile(n: usize) -> Scene {
    let mut m = empty(0.5, 0.0);
    floor(&mut m);
    let side = ((n as f64).cbrt().ceil() as usize).max(2);
    let (pitch, wide) = (0.85, 0.85 * side as f64 + 0.5);
    let (tall, thick) = (2.0 * wide, 1.0);
    for k in 0..4 {
        let away = 0.5 * (wide + thick);
        let (size, at) = match k {
            0 => (Vector::new(thick, tall, wide + 2.0 * thick), Vector::new(-away, 0.5 * tall, 0.0)),
            1 => (Vector::new(thick, tall, wide + 2.0 * thick), Vector::new(away, 0.5 * tall, 0.0)),
            2 => (Vector::new(wide, tall, thick), Vector::new(0.0, 0.5 * tall, -away)),
            _ => (Vector::new(wide, tall, thick), Vector::new(0.0, 0.5 * tall, away)),
        };
        let wall = PlacedShape::cuboid(size.x, size.y, size.z).moved(Pose::from_translation(at));
        add(&mut m, Solid { shapes: vec![wall], ..Solid::fixed(format!("wall-{k}")) });
    }
    let mut random = Random::new(7);
    for k in 0..n {
        let mut any = |low: f64, high: f64| low + (high - low) * (0.5 + 0.5 * random.signed());
        let size = Vector::new(any(0.4, 0.6), any(0.4, 0.6), any(0.4, 0.6));
        let (x, z, y) = (k % side, (k / side) % side, k / (side * side));
        let middle = 0.5 * (side as f64 - 1.0);
        // Every other layer is half a box aside, so that they interlock.
        let aside = 0.4 * (y % 2) as f64 - 0.2;
        let at = Vector::new(
            (x as f64 - middle) * pitch + aside + any(-0.02, 0.02),
            0.6 + y as f64 * pitch,
            (z as f64 - middle) * pitch + aside + any(-0.02, 0.02),
        );
        let turn = Rotation::from_axis_angle(
            Vector::new(any(-1.0, 1.0), any(-1.0, 1.0), any(0.1, 1.0)).normalize(),
            any(-0.7, 0.7),
        );
        let shape = PlacedShape::cuboid(size.x, size.y, size.z);
        let mass = 1000.0 * size.x * size.y * size.z;
        let solid = Solid::new(format!("box-{k}")).with_shape(shape, mass);
        add(&mut m, solid.at(at.x, at.y, at.z).turned(turn));
    }
    Scene { name: format!("pile of {n} boxes"), m, frames: 480 }
}

/// `n` boxes of a metre and a tonne on each other.
pub fn stack(n: usize) -> Scene {
    let mut m = empty(0.5, 0.0);
    floor(&mut m);
    for k in 0..n {
        let solid = Solid::new(format!("box-{k}")).with_shape(PlacedShape::cuboid(1.0, 1.0, 1.0), 1000.0);
        add(&mut m, solid.at(0.0, 0.5 + k as f64, 0.0));
    }
    Scene { name: format!("stack of {n} boxes"), m, frames: 600 }
}

/// A box of 1 kg under one of `ratio` kg.
pub fn heavy_on_top(ratio: f64) -> Scene {
    let mut m = empty(0.5, 0.0);
    floor(&mut m);
    for (k, mass) in [1.0, ratio].into_iter().enumerate() {
        let solid = Solid::new(format!("box-{k}")).with_shape(PlacedShape::cuboid(1.0, 1.0, 1.0), mass);
        add(&mut m, solid.at(0.0, 0.5 + k as f64, 0.0));
    }
    Scene { name: format!("1 kg under {ratio} kg"), m, frames: 300 }
}

/// A box on an incline of friction .5: at 26.5 degrees it must stay.
pub fn incline(degrees: f64) -> Scene {
    let mut m = empty(0.5, 0.0);
    let turn = Rotation::from_axis_angle(Vector::Z, degrees.to_radians());
    let plane = PlacedShape::plane(turn * Vector::Y);
    add(&mut m, Solid { shapes: vec![plane], ..Solid::fixed("incline") });
    let at = turn * Vector::new(0.0, 0.25, 0.0);
    let solid = Solid::new("box").with_shape(PlacedShape::cuboid(0.5, 0.5, 0.5), 1.0);
    add(&mut m, solid.at(at.x, at.y, at.z).turned(turn));
    Scene { name: format!("box on {degrees} deg, mu .5"), m, frames: 60 }
}

/// A scene of the gallery.
pub fn gallery(name: &str, text: &str, frames: usize) -> Scene {
    let (scene, report) = linkwork::scene::load(text, &mut |_: &str| Err("no files".into()));
    let Some(scene) = scene else { panic!("{}", report.render(name, text, false)) };
    Scene { name: name.into(), m: scene.mechanism, frames }
}

/// `n` ragdolls on wide stairs, ten abreast, one row behind the other.
pub fn ragdolls(n: usize, text: &str) -> Scene {
    let one = gallery("ragdoll", text, 0).m;
    let mut m = Mechanism::new();
    m.gravity = one.gravity;
    for surface in one.materials() {
        m.add_material(surface.clone()).expect("a surface of the benchmark");
    }
    let fixed = |i: usize| one.solids()[i].is_fixed();
    let mut name = vec![SolidId::WORLD; one.solids().len()];
    for (i, solid) in one.solids().iter().enumerate().skip(1).filter(|(i, _)| fixed(*i)) {
        let mut solid = solid.clone();
        for s in &mut solid.shapes {
            if let linkwork::Shape::Box(size) = &mut s.shape {
                // As wide as the crowd.
                size.x *= 10.0;
            }
        }
        name[i] = m.add_solid(solid).expect("stairs");
    }
    for k in 0..n {
        let (x, z, y) = (k % 10, (k / 10) % 2, k / 20);
        let way = Vector::new(1.1 * x as f64 - 4.95, 1.9 * y as f64, -0.5 * z as f64);
        for (i, solid) in one.solids().iter().enumerate().skip(1).filter(|(i, _)| !fixed(*i)) {
            let mut solid = solid.clone();
            solid.name = format!("{}-{k}", solid.name);
            solid.pose.translation += way;
            solid.velocity = Vector::new(0.0, 0.0, 1.0);
            name[i] = m.add_solid(solid).expect("a limb");
        }
        for j in one.joints() {
            let mut frames = j.frames;
            frames.iter_mut().for_each(|f| f.solid = name[f.solid.index()]);
            let joint = Joint { name: format!("{}-{k}", j.name), frames, ..j.clone() };
            m.add_joint(joint).expect("a joint");
        }
    }
    Scene { name: format!("{n} ragdolls on stairs"), m, frames: 240 }
}
