//! `linkwork reach`: where a point of a solid can get to.

use crate::failure::{self, Failure};
use crate::files::{self, check_outputs};
use crate::numbers;
use crate::report::{self, count, figure};
use crate::scene;
use crate::terminal::{self, Paint};
use linkwork::reach::{Reach, ReachConfig, reach};
use linkwork::{AssembleConfig, Outcome, SolidId, State, Vector, assemble};
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Instant;

/// Finds everywhere a point of a solid can reach: a line, an area or a volume
///
/// The point is dragged about with all joints closed and all limits respected; motors are off, and contact is ignored. A
/// scene with open joints is assembled first.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  linkwork reach scenes/fourbar.lw coupler --point 0.9 0.7 0     the coupler's curve
  linkwork reach arm.lw hand -o reach.csv                        every point: x, y, z, and whether it is inside")]
pub struct Args {
    /// The scene; `-` reads standard input
    scene: PathBuf,
    /// Name of the solid
    solid: String,
    /// The point, in the solid's own coordinates [default: its centre of mass]
    #[arg(long, num_args = 3, value_names = ["X", "Y", "Z"], allow_negative_numbers = true)]
    point: Option<Vec<f64>>,
    /// Number of cells across an area: more give a finer result and take longer
    #[arg(long, value_name = "N", default_value_t = 48, value_parser = clap::value_parser!(u16).range(4..=1000))]
    across: u16,
    /// Stop after this many milliseconds and report what was found
    #[arg(long, value_name = "B", default_value = "30000", value_parser = numbers::milliseconds)]
    budget_ms: f64,
    /// Write every point that was reached
    #[arg(short, long, value_name = "FILE.csv")]
    output: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &Args) -> Result<u8, Failure> {
    let loaded = scene::load(&args.scene)?;
    let mut inputs = loaded.mesh_files();
    inputs.push(args.scene.clone());
    if let Some(path) = &args.output {
        let read: Vec<&std::path::Path> = inputs.iter().map(PathBuf::as_path).collect();
        check_outputs([path.as_path()], &read)?;
    }
    let m = loaded.mechanism();
    let found = m.solids().iter().position(|s| s.name == args.solid);
    let solid = SolidId(found.ok_or_else(|| {
        Failure::input(&loaded.name, format!("there is no solid `{}` in {}", args.solid, loaded.name))
    })? as u32);
    let point = match args.point.as_deref() {
        Some([x, y, z]) => Vector::new(*x, *y, *z),
        _ => m.solid(solid).mass.center,
    };
    let mut state = State::new(m);
    let tolerance = loaded.scene.settings.tolerance.unwrap_or(1e-6);
    let assembled = assemble(m, &mut state, &AssembleConfig { tolerance, ..AssembleConfig::default() });
    if assembled.outcome != Outcome::Ok {
        terminal::note("the scene cannot be assembled: this is the reach from the closest pose");
    }
    // Finer grids take more pulls, and whoever asks for them can wait.
    let across = usize::from(args.across);
    let pulls = 40_000 * (across / 48).max(1).pow(2);
    let start = Instant::now();
    let over = || 1e3 * start.elapsed().as_secs_f64() > args.budget_ms;
    let config = ReachConfig { across, pulls, tolerance, out_of_time: Some(&over) };
    let r =
        reach(m, &state, solid, point, &config).map_err(|e| Failure::input(&loaded.name, e.to_string()))?;
    if let Some(path) = &args.output {
        files::write(path, csv(&r).as_bytes()).map_err(Failure::failed)?;
    }
    if args.json {
        let low = r.places.iter().fold(Vector::INFINITY, |a, p| a.min(p.at));
        let high = r.places.iter().fold(Vector::NEG_INFINITY, |a, p| a.max(p.at));
        terminal::print_json(&json!({
            "scene": loaded.title(),
            "solid": args.solid,
            "point": point.to_array(),
            "dimensions": r.dimensions,
            "measure": r.measure,
            "places": r.places.len(),
            "cell": r.cell,
            "from": low.to_array(),
            "to": high.to_array(),
            "unbounded": r.unbounded,
            "complete": r.complete,
        }))?;
    } else {
        let paint = Paint::stdout();
        let mut text = report::heading(&loaded, paint);
        let _ = writeln!(text, "  {}", words(&r, &args.solid));
        if let Some(path) = &args.output {
            let _ = writeln!(text, "\n  wrote {}", path.display());
        }
        terminal::print(text)?;
    }
    Ok(failure::OK)
}

/// What was found, in a sentence.
fn words(r: &Reach, solid: &str) -> String {
    let what = match (r.dimensions, r.measure) {
        (0, _) => return format!("this point of `{solid}` cannot move"),
        (1, _) => "a line".to_owned(),
        (2, Some(area)) => format!("an area of {} m²", figure(area)),
        (3, Some(volume)) => format!("a volume of {} m³", figure(volume)),
        _ => "a curved surface".to_owned(),
    };
    let near = if r.unbounded { ", and continues beyond the region searched" } else { "" };
    let part = if r.complete { "" } else { "; the search was not finished" };
    format!(
        "this point of `{solid}` reaches {what} ({} of {} m){near}{part}",
        count(r.places.len(), "cell"),
        figure(r.cell)
    )
}

fn csv(r: &Reach) -> String {
    let mut text = "x_m,y_m,z_m,inside\n".to_owned();
    for p in &r.places {
        let _ = writeln!(text, "{:.9},{:.9},{:.9},{}", p.at.x, p.at.y, p.at.z, u8::from(p.inside));
    }
    text
}
