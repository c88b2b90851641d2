//! A drawing of a mechanism: orthographic, shaded, with joints, ground, gaps and a scale.
//!
//! The page is built in layers: ground, bearings, solids from back to front, joints, gaps, text.

mod ink;
mod marks;
mod order;
mod view;

use super::figure::{Figure, Part};
use super::gap::Gap;
use super::sheet;
use crate::joint::JointId;
use crate::mechanism::Mechanism;
use crate::shape::Shape;
use crate::state::State;
use ink::{Ink, n};
use std::fmt::Write;
use view::View;

/// What lies behind the drawing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Background {
    /// A card of its own that is light, or dark for readers who prefer dark pages: legible on any page.
    #[default]
    Auto,
    /// A light card.
    Light,
    /// A dark card.
    Dark,
    /// Nothing; ink in a middle tone that shows on white and on black.
    None,
}

/// How to draw, and what the drawing cannot know from mechanism and state alone.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Upper left, large. Empty: none.
    pub title: &'a str,
    /// Below the title, small: counts, outcome. Empty: none.
    pub caption: &'a str,
    /// Pixels across; the height follows from what there is to see.
    pub width: f64,
    /// What lies behind.
    pub background: Background,
    /// Joints that close a loop: drawn lighter than those of the spanning forest.
    pub closures: &'a [JointId],
    /// Open joints, drawn in red with their length. See [`super::open_gaps`].
    pub gaps: &'a [Gap],
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { title: "", caption: "", width: 960.0, background: Background::Auto, closures: &[], gaps: &[] }
    }
}

/// The mechanism in a state, as the text of an `.svg` file.
///
/// ```
/// use linkwork::{Mechanism, PlacedShape, Solid, State, Vector, formats::{SvgOptions, svg}};
/// let mut m = Mechanism::new();
/// m.add_solid(Solid::new("bar").with_shape(PlacedShape::capsule(0.05, 1.0, Vector::X), 1.0))?;
/// let drawing = svg(&m, &State::new(&m), &SvgOptions { title: "One bar", ..Default::default() });
/// assert!(drawing.starts_with("<svg") && drawing.contains("One bar"));
/// # Ok::<(), linkwork::ModelError>(())
/// ```
pub fn svg(m: &Mechanism, s: &State, options: &Options) -> String {
    let mut figure = Figure::new(m, s);
    // Here a soft body is a part like any other.
    let softs = m.softs().iter().zip(&figure.softs).map(|(soft, part)| sheet::part(&soft.mesh, part));
    let softs: Vec<Part> = softs.collect();
    figure.parts.extend(softs);
    let mut view = View::choose(m, s, figure.up);
    let width = if options.width.is_finite() { options.width.clamp(160.0, 16_384.0) } else { 960.0 };
    let height = lay_out(&mut view, &figure, m, s, options, width);
    let page = [MARGIN * 0.4, MARGIN * 0.4, width - MARGIN * 0.4, height - MARGIN * 0.4];

    let inks: Vec<Ink> = figure
        .parts
        .iter()
        .flat_map(|part| part.shapes.iter().filter_map(|shape| Ink::new(&view, part, shape)))
        .collect();
    let bodies = order::bodies(&inks);
    let thick = typical_thickness(&view, &figure);
    // Joint dots are a little smaller than the typical bar is wide, and always visible.
    let dot = (0.55 * thick).clamp(1.4, 5.5);

    let mut out = String::new();
    let (w, h) = (n(width), n(height));
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\">"
    );
    let title = if options.title.is_empty() { "Linkwork drawing" } else { options.title };
    let _ = writeln!(out, "<title>{}</title>\n<style>{}</style>", escape(title), style(options.background));
    if options.background != Background::None {
        let _ = writeln!(out, "<rect class=\"card\" width=\"{w}\" height=\"{h}\" rx=\"14\"/>");
    }
    marks::planes(&mut out, &view, &figure, page);
    marks::bearings(&mut out, &view, m, s, bearing_size(thick), 0.3 * figure.radius);
    out.push_str("<g class=\"solids\">\n");
    for i in order::back_to_front(&view, &inks, &bodies) {
        out.push_str(&inks[i].svg);
        out.push('\n');
    }
    out.push_str("</g>\n");
    let hidden = |p| order::is_hidden(&view, &inks, &bodies, p, 0.07 * figure.radius);
    marks::joints(&mut out, &view, m, s, options.closures, dot, &hidden);
    marks::gaps(&mut out, &view, options.gaps, dot);
    text(&mut out, options, width, height);
    marks::scale_bar(&mut out, &view, MARGIN, height - 26.0);
    out.push_str("</svg>\n");
    out
}

/// Space around the drawing.
const MARGIN: f64 = 36.0;

/// Fits the view to what there is to see and returns the height of the page.
fn lay_out(view: &mut View, figure: &Figure, m: &Mechanism, s: &State, o: &Options, width: f64) -> f64 {
    let header = match (o.title.is_empty(), o.caption.is_empty()) {
        (true, true) => MARGIN,
        (false, false) => 92.0,
        _ => 72.0,
    };
    let footer = 58.0;
    let inner = width - 2.0 * MARGIN;
    let mut extent = Extent::default();
    for part in &figure.parts {
        for shape in &part.shapes {
            for (p, r) in ink::outline(&shape.shape, &(part.pose * shape.pose)) {
                extent.add(view.at(p), [r; 4]);
            }
            if let Some(foot) = marks::side_of_plane(view, figure, part, shape) {
                extent.add(view.at(foot), [0.0; 4]);
            }
        }
    }
    for frame in m.joints().iter().filter(|j| !m.is_inert(j)).flat_map(|j| &j.frames) {
        extent.add(view.at(s.pose(m, frame.solid).transform_point(frame.pose.translation)), [0.0; 4]);
    }
    for gap in o.gaps {
        extent.add(view.at(gap.from), [0.0; 4]);
        extent.add(view.at(gap.to), [0.0; 4]);
    }
    // Bearings have a size on the page, not in the world: guess the scale first, then make room for them.
    let [low, high] = extent.corners();
    let scale = (inner / (high[0] - low[0]).max(1e-9)).min(0.68 * width / (high[1] - low[1]).max(1e-9));
    let size = bearing_size(typical_thickness(&View { scale, ..*view }, figure)) / scale;
    for (_, _, pose) in marks::grounded(m, s) {
        extent.add(view.at(pose.translation), [1.4 * size, 0.0, 1.4 * size, 1.7 * size]);
    }
    // As tall as the drawing asks for, between a banner and almost a square.
    let [low, high] = extent.corners();
    let aspect = (high[1] - low[1]) / (high[0] - low[0]).max(1e-12);
    let tall = (inner * aspect).clamp(0.22 * width, 0.68 * width);
    view.fit(low, high, [MARGIN, header, width - MARGIN, header + tall]);
    header + tall + footer
}

/// The box on the page around everything finite.
#[derive(Default)]
struct Extent(Option<[[f64; 2]; 2]>);

impl Extent {
    /// A point with room to its left, top, right and bottom.
    fn add(&mut self, [x, y]: [f64; 2], [left, top, right, bottom]: [f64; 4]) {
        let (low, high) = ([x - left, y - top], [x + right, y + bottom]);
        if low.iter().chain(&high).all(|v| v.is_finite()) {
            let [l, h] = self.0.unwrap_or([low, high]);
            self.0 = Some([[0, 1].map(|k| l[k].min(low[k])), [0, 1].map(|k| h[k].max(high[k]))]);
        }
    }

    fn corners(&self) -> [[f64; 2]; 2] {
        self.0.unwrap_or([[-0.5; 2], [0.5; 2]])
    }
}

/// Pixels of the typical bar's radius.
fn typical_thickness(view: &View, figure: &Figure) -> f64 {
    let mut radii: Vec<f64> = figure
        .parts
        .iter()
        .filter(|p| !p.wire)
        .flat_map(|p| &p.shapes)
        .filter_map(|s| match s.shape {
            Shape::Capsule { radius, .. } => Some(radius),
            Shape::Cylinder { radius, length } => Some(radius.min(length)),
            _ => None,
        })
        .collect();
    radii.sort_by(f64::total_cmp);
    radii.get(radii.len() / 2).copied().unwrap_or(0.02 * figure.radius) * view.scale
}

/// Bearings show below the bars they carry.
fn bearing_size(thick: f64) -> f64 {
    (1.7 * thick).clamp(6.0, 34.0)
}

/// Title, caption and, where needed, what the marks mean.
fn text(out: &mut String, o: &Options, width: f64, height: f64) {
    let mut y = 44.0;
    if !o.title.is_empty() {
        let _ = writeln!(out, "<text class=\"title\" x=\"{MARGIN}\" y=\"{y}\">{}</text>", escape(o.title));
        y += 24.0;
    }
    if !o.caption.is_empty() {
        let _ = writeln!(out, "<text class=\"soft\" x=\"{MARGIN}\" y=\"{y}\">{}</text>", escape(o.caption));
    }
    let mut x = width - MARGIN;
    let y = height - 26.0;
    let mut entry = |words: &str, mark: &dyn Fn(f64) -> String| {
        let _ = write!(
            out,
            "<text class=\"soft\" text-anchor=\"end\" x=\"{}\" y=\"{}\">{words}</text>",
            n(x),
            n(y + 4.0)
        );
        x -= 6.4 * words.len() as f64 + 11.0;
        out.push_str(&mark(x));
        out.push('\n');
        x -= 26.0;
    };
    if !o.gaps.is_empty() {
        entry("open", &|x| format!("<g class=\"gap\"><path d=\"M{} {}h18\"/></g>", n(x - 15.0), n(y)));
    }
    if !o.closures.is_empty() {
        for (words, class) in [("closes a loop", "closure"), ("joint", "dot")] {
            entry(words, &|x| {
                format!(
                    "<circle class=\"{class}\" stroke-width=\"1.2\" cx=\"{}\" cy=\"{}\" r=\"4.5\"/>",
                    n(x),
                    n(y)
                )
            });
        }
    }
}

/// The colours of everything that is not a solid.
fn style(background: Background) -> String {
    const COMMON: &str = "text{font:13px system-ui,'Segoe UI','Helvetica Neue',Arial,sans-serif}\
        .title{font-size:22px;font-weight:600}.solids{fill:none;stroke-linecap:round;stroke-linejoin:round}\
        .line,.grid,.bearing,.axis{fill:none;stroke-linecap:round;stroke-linejoin:round}.line{stroke-width:1.3}\
        .grid{stroke-width:.8}.bearing{stroke-width:1.4}\
        .gap{stroke:#e5383b;stroke-width:2.4;stroke-linecap:round;fill:#e5383b}\
        .gap-label{fill:#e5383b;text-anchor:start;paint-order:stroke;stroke-width:3px;stroke-linejoin:round}\
        .gap-label text{font-weight:600;font-size:12px}";
    const LIGHT: [&str; 6] = ["#faf8f4", "#262b33", "#6b7280", "#8b929c", "#ddd9d0", "#262b33"];
    const DARK: [&str; 6] = ["#191c22", "#eceae6", "#9aa2ae", "#7d8591", "#353a44", "#0d0f12"];
    const MIDDLE: [&str; 6] = ["none", "#7f858f", "#868c96", "#868c96", "#9aa0a8", "#33383f"];
    let ink = |[card, title, soft, line, grid, dot]: [&str; 6]| {
        let halo = if card == "none" { "none" } else { card };
        format!(
            ".card{{fill:{card}}}.title{{fill:{title}}}.soft{{fill:{soft}}}.line,.bearing{{stroke:{line}}}\
             .bearing{{fill:{card}}}.grid{{stroke:{grid}}}.axis{{stroke:{dot}}}.dot{{fill:{dot};stroke:#f4f1ea}}\
             .closure{{fill:#f4f1ea;stroke:{dot}}}.gap-label{{stroke:{halo}}}"
        )
    };
    match background {
        Background::Auto => {
            format!("{COMMON}{}@media (prefers-color-scheme:dark){{{}}}", ink(LIGHT), ink(DARK))
        }
        Background::Light => format!("{COMMON}{}", ink(LIGHT)),
        Background::Dark => format!("{COMMON}{}", ink(DARK)),
        Background::None => format!("{COMMON}{}", ink(MIDDLE)),
    }
}

/// Text that may contain anything, safe inside XML. Control characters are not allowed there at all.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::open_gaps;
    use crate::joint::{Frame, Joint};
    use crate::math::Vector;
    use crate::shape::PlacedShape;
    use crate::solid::{Solid, SolidId};

    fn two_bars() -> Mechanism {
        let mut m = Mechanism::new();
        let bar = || PlacedShape::capsule_between(0.05, Vector::ZERO, Vector::X);
        let a = m.add_solid(Solid::new("a").with_shape(bar(), 1.0)).unwrap();
        let b = m.add_solid(Solid::new("b").with_shape(bar(), 1.0).at(1.2, 0.3, 0.0)).unwrap();
        let pin =
            |s1, p1, s2| Joint::pin(Frame::axis(s1, p1, Vector::Z), Frame::axis(s2, Vector::ZERO, Vector::Z));
        m.add_joint(pin(SolidId::WORLD, Vector::ZERO, a)).unwrap();
        m.add_joint(pin(a, Vector::X, b)).unwrap();
        m
    }

    #[test]
    fn marks_are_where_they_are_asked_for() {
        let m = two_bars();
        let s = State::new(&m);
        let gaps = open_gaps(&m, &s, 1e-6);
        assert_eq!(gaps.len(), 1);
        let o = Options {
            title: "a < b & \"c\"\u{7}",
            gaps: &gaps,
            closures: &[JointId(1)],
            ..Default::default()
        };
        let drawing = svg(&m, &s, &o);
        assert!(drawing.contains("a &lt; b &amp; &quot;c&quot; </text>"));
        assert_eq!(drawing.matches("class=\"gap\"").count(), 2, "the gap and its legend");
        assert!(drawing.contains("0.36 m"));
        assert_eq!(drawing.matches("class=\"closure\"").count(), 2, "the dot and its legend");
        assert!(drawing.contains("class=\"bearing\""));
        let quiet = svg(&m, &s, &Options::default());
        assert!(!quiet.contains("class=\"gap\"") && !quiet.contains("class=\"closure\""));
    }

    /// A sheet is its triangles, seen from either side; its vertices are not drawn.
    #[test]
    fn sheets_are_drawn_from_both_sides() {
        for turn in ["", "turn 0 1 0 180 deg;"] {
            let text = format!(
                "cloth s: grid 4 3 spacing 0.1; mass 1; stretch 9; color 1 0 0; {turn} end
                 cloth r: grid 5 1 spacing 0.1; at 0 1 0; mass 1; stretch 9; color 0 0 1; end"
            );
            let m = crate::scene::load(&text, &mut |_| Err(String::new())).0.unwrap().mechanism;
            let drawing = svg(&m, &State::new(&m), &Options::default());
            let triangles =
                drawing.lines().find(|l| l.contains("<path") && l.contains("Z\" fill=\"#")).unwrap();
            assert_eq!(triangles.matches("<path").count(), 12, "{drawing}");
            assert_eq!(drawing.matches("stroke=\"#0000ff\"").count(), 4, "pieces of the rope");
            assert!(!drawing.contains("<circle"), "{drawing}");
        }
    }

    #[test]
    fn broken_numbers_make_a_drawing_all_the_same() {
        let m = two_bars();
        let mut s = State::new(&m);
        s.centers[1].x = f64::NAN;
        s.centers[2].y = f64::INFINITY;
        s.rotations[2].x = f64::NAN;
        let gaps = [Gap { joint: JointId(7), from: Vector::splat(f64::NAN), to: Vector::splat(1e300) }];
        let o = Options { width: f64::NAN, gaps: &gaps, closures: &[JointId(99)], ..Default::default() };
        for text in [svg(&m, &s, &o), svg(&Mechanism::new(), &State::new(&Mechanism::new()), &o)] {
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
            assert!(text.ends_with("</svg>\n"));
        }
    }
}
