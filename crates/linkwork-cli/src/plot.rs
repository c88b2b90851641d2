//! Charts and pages that need nothing but themselves: inline SVG in one HTML file, readable in light and dark.
//!
//! ```text
//!     let mut page = Page::new("Title", "what this is");
//!     page.heading("First part");
//!     page.text("Words.");
//!     page.table(&Table { columns, rows });
//!     page.charts(&[Chart { title, x_label, y_label, log_y: true, series, ..Chart::default() }]);
//!     let html = page.write();
//! ```
//! A series is told by its colour *and* by its dashes, and every point can be asked for its numbers by pointing at it.

use std::fmt::Write;

/// A line in a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// For the legend.
    pub name: String,
    /// x and y; what is not finite interrupts the line.
    pub points: Vec<(f64, f64)>,
}

/// A chart with lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// Above it.
    pub title: String,
    /// Below the horizontal axis, with the unit.
    pub x_label: String,
    /// Beside the vertical axis, with the unit.
    pub y_label: String,
    /// Powers of ten on the vertical axis: zero and less are not drawn.
    pub log_y: bool,
    /// The same on the horizontal one.
    pub log_x: bool,
    /// One unit is as long on both axes: for paths in a plane.
    pub same_scale: bool,
    /// Cuts the vertical axis off outside of this, so that one wild line does not flatten the others.
    pub y_range: Option<(f64, f64)>,
    /// A remark below.
    pub note: String,
    /// The lines.
    pub series: Vec<Series>,
}

/// A table; cells are plain text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Titles of the columns.
    pub columns: Vec<String>,
    /// Rows of cells.
    pub rows: Vec<Vec<String>>,
}

/// An HTML page being written.
pub struct Page {
    title: String,
    body: String,
}

impl Page {
    /// With a title and a line below it.
    pub fn new(title: &str, below: &str) -> Self {
        let body = format!("<h1>{}</h1>\n<p class=\"below\">{}</p>\n", escape(title), escape(below));
        Self { title: title.to_owned(), body }
    }

    /// A part that can be linked to.
    pub fn part(&mut self, id: &str, text: &str) {
        let _ = writeln!(self.body, "<h2 id=\"{}\">{}</h2>", escape(id), escape(text));
    }

    /// HTML that the caller has made, out of escaped text.
    pub fn html(&mut self, html: &str) {
        self.body.push_str(html);
    }

    /// A heading.
    pub fn heading(&mut self, text: &str) {
        let _ = writeln!(self.body, "<h2>{}</h2>", escape(text));
    }

    /// A paragraph.
    pub fn text(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p>{}</p>", escape(text));
    }

    /// A table. Cells that are numbers stand right.
    pub fn table(&mut self, table: &Table) {
        let out = &mut self.body;
        out.push_str("<div class=\"wide\"><table>\n<thead><tr>");
        // A column stands right when it holds numbers and nothing else.
        let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || "−-–".contains(c));
        let right = |k: usize| table.rows.iter().all(|r| r.get(k).is_none_or(|c| number(c)));
        for (k, column) in table.columns.iter().enumerate() {
            let class = if right(k) { " class=\"n\"" } else { "" };
            let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escape(column));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &table.rows {
            out.push_str("<tr>");
            for (k, cell) in row.iter().enumerate() {
                let class = if right(k) { " class=\"n\"" } else { "" };
                let _ = write!(out, "<td{class}>{}</td>", escape(cell));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
    }

    /// Charts side by side, as far as the window is wide.
    pub fn charts(&mut self, charts: &[Chart]) {
        self.body.push_str("<div class=\"charts\">\n");
        for chart in charts {
            self.body.push_str(&chart.figure());
        }
        self.body.push_str("</div>\n");
    }

    /// The whole file.
    pub fn write(&self) -> String {
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n<main>\n\
             {}</main>\n</body>\n</html>\n",
            escape(&self.title),
            STYLE,
            series_style(),
            self.body
        )
    }
}

/// Text that HTML takes as text.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const STYLE: &str = "\
:root { color-scheme: light dark; --bg: #ffffff; --card: #fafbfc; --ink: #1c2430; --soft: #5b6675; --grid: #e3e7ec;
  --axis: #98a2af; --good: #0a7a4b; --partly: #9a5b00; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --bg: #12161c; --card: #181d25; --ink: #e6eaf0; --soft: #9aa6b5;
  --grid: #2a323d; --axis: #667181; --good: #4fd39a; --partly: #f0b45a; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0; }
h2 { font-size: 18px; margin: 34px 0 10px; }
p { max-width: 76ch; margin: 8px 0; }
.below { color: var(--soft); margin: 4px 0 20px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 5px 14px 5px 0; border-bottom: 1px solid var(--grid); white-space: nowrap; }
th { color: var(--soft); font-weight: 600; font-size: 13px; vertical-align: bottom; }
.n { text-align: right; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(520px, 100%), 1fr)); gap: 18px; }
figure { margin: 0; padding: 14px 14px 10px; background: var(--card); border: 1px solid var(--grid); border-radius: 8px;
  min-width: 0; }
figcaption { font-weight: 600; margin-bottom: 6px; }
.note { color: var(--soft); font-size: 13px; margin: 4px 0 0; }
svg { display: block; }
figure > svg { width: 100%; height: auto; }
svg text { fill: var(--soft); font: 12px system-ui, sans-serif; }
.grid { stroke: var(--grid); stroke-width: 1; }
.axis { stroke: var(--axis); stroke-width: 1; fill: none; }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: butt; }
.dot { stroke: none; }
.ask { opacity: 0; stroke: none; }
.ask:hover { opacity: 0.9; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 18px; list-style: none; margin: 6px 0 0; padding: 0; font-size: 13px; }
.legend li { display: flex; align-items: center; gap: 7px; }
.badge { display: inline-block; padding: 2px 10px; border-radius: 999px; font-size: 13px; font-weight: 600;
  border: 1px solid; }
.good { color: var(--good); } .partly { color: var(--partly); } .bad { color: var(--bad); } .open { color: var(--soft); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(420px, 100%), 1fr)); gap: 18px; margin: 14px 0; }
.card { padding: 12px 16px; border: 1px solid var(--grid); border-radius: 8px; background: var(--card); min-width: 0; }
.card h3 { margin: 0 0 4px; font-size: 13px; color: var(--soft); font-weight: 600; }
.card ul { margin: 6px 0 0; padding-left: 18px; }
.wrap td { white-space: normal; vertical-align: top; }
.wrap td:nth-child(-n+2) { white-space: nowrap; } .wrap td:nth-child(3) { min-width: 24ch; }
code { font: 0.92em ui-monospace, monospace; }
.above { color: var(--soft); font-size: 14px; margin: 18px 0 6px; max-width: 110ch; }
a { color: inherit; text-decoration-color: var(--axis); text-underline-offset: 2px; }
section { border-top: 1px solid var(--grid); margin-top: 40px; }
details { margin: 14px 0; } summary { cursor: pointer; color: var(--soft); }
";

/// Colours that those who see red and green alike can tell apart too, for light and for dark.
const COLORS: [(&str, &str); 8] = [
    ("#0b6bb8", "#5cb3ff"),
    ("#cf4a00", "#ff9457"),
    ("#00805c", "#39d3a6"),
    ("#a83a86", "#f29ad2"),
    ("#7a6300", "#f0c84a"),
    ("#5a50c8", "#a9a3ff"),
    ("#3f4a57", "#cfd6df"),
    ("#007c8a", "#4fd0e0"),
];
/// So that colour is never alone.
const DASHES: [&str; 7] = ["", "8 3", "2 3", "9 3 2 3", "14 4", "5 2 1 2 1 2", "4 4"];

fn series_style() -> String {
    let (mut light, mut dark) = (String::new(), String::new());
    for (k, (l, d)) in COLORS.iter().enumerate() {
        let _ = write!(light, " --c{k}: {l};");
        let _ = write!(dark, " --c{k}: {d};");
    }
    let mut style =
        format!(":root {{{light} }}\n@media (prefers-color-scheme: dark) {{ :root {{{dark} }} }}\n");
    for k in 0..COLORS.len() {
        let _ = writeln!(
            style,
            ".line.c{k} {{ stroke: var(--c{k}); }} .dot.c{k}, .ask.c{k} {{ fill: var(--c{k}); }}"
        );
    }
    for (k, dash) in DASHES.iter().enumerate().skip(1) {
        let _ = writeln!(style, ".d{k} {{ stroke-dasharray: {dash}; }}");
    }
    style
}

fn class(series: usize) -> String {
    format!("c{} d{}", series % COLORS.len(), series % DASHES.len())
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 44.0;

/// From numbers to places on the paper.
struct Scale {
    x: (f64, f64),
    y: (f64, f64),
    log_x: bool,
    log_y: bool,
}

impl Scale {
    fn x(&self, x: f64) -> f64 {
        let x = if self.log_x { x.log10() } else { x };
        LEFT + (x - self.x.0) / (self.x.1 - self.x.0) * (WIDTH - LEFT - RIGHT)
    }
    fn y(&self, y: f64) -> f64 {
        let y = if self.log_y { y.log10() } else { y };
        HEIGHT - BOTTOM - (y - self.y.0) / (self.y.1 - self.y.0) * (HEIGHT - TOP - BOTTOM)
    }
}

impl Chart {
    /// The chart with title, legend and note.
    pub fn figure(&self) -> String {
        let mut out = format!("<figure>\n<figcaption>{}</figcaption>\n{}", escape(&self.title), self.svg());
        if self.series.len() > 1 {
            out.push_str("<ul class=\"legend\">");
            for (k, s) in self.series.iter().enumerate() {
                let _ = write!(
                    out,
                    "<li><svg width=\"36\" height=\"8\" aria-hidden=\"true\"><line class=\"line {}\" x1=\"0\" y1=\"4\" \
                     x2=\"36\" y2=\"4\"/></svg>{}</li>",
                    class(k),
                    escape(&s.name)
                );
            }
            out.push_str("</ul>\n");
        }
        if !self.note.is_empty() {
            let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(&self.note));
        }
        out.push_str("</figure>\n");
        out
    }

    /// The chart alone.
    pub fn svg(&self) -> String {
        let mut out = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
            escape(&self.title)
        );
        match self.scale() {
            Some(scale) => self.draw(&scale, &mut out),
            None => {
                let (x, y) = (WIDTH / 2.0, HEIGHT / 2.0);
                let _ =
                    writeln!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">nothing to draw</text>");
            }
        }
        out.push_str("</svg>\n");
        out
    }

    fn is_drawn(&self, (x, y): (f64, f64)) -> bool {
        x.is_finite() && y.is_finite() && (!self.log_y || y > 0.0) && (!self.log_x || x > 0.0)
    }

    /// The extent of what is drawn; `None` when nothing is.
    fn scale(&self) -> Option<Scale> {
        let inf = f64::INFINITY;
        let (mut x, mut y) = ((inf, -inf), (inf, -inf));
        for p in self.series.iter().flat_map(|s| &s.points).filter(|p| self.is_drawn(**p)) {
            x = (x.0.min(p.0), x.1.max(p.0));
            y = (y.0.min(p.1), y.1.max(p.1));
        }
        if x.0 > x.1 {
            return None;
        }
        if let Some(range) = self.y_range {
            y = (y.0.max(range.0), y.1.min(range.1));
            y = if y.0 < y.1 { y } else { range };
        }
        if self.log_x {
            x = (x.0.log10(), x.1.log10());
        }
        if self.log_y {
            let (low, high) = (y.0.log10().floor(), y.1.log10().ceil());
            y = if low < high { (low, high) } else { (low - 1.0, low + 1.0) };
        } else {
            y = widen(y, 0.06);
        }
        x = if x.0 < x.1 { x } else { widen(x, 0.0) };
        if self.same_scale {
            x = widen(x, 0.06);
            let (w, h) = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
            let unit = ((x.1 - x.0) / w).max((y.1 - y.0) / h);
            let middle = |r: (f64, f64), length: f64| {
                let c = 0.5 * (r.0 + r.1);
                (c - 0.5 * length * unit, c + 0.5 * length * unit)
            };
            (x, y) = (middle(x, w), middle(y, h));
        }
        (x.0.is_finite() && x.1.is_finite() && y.0.is_finite() && y.1.is_finite()).then_some(Scale {
            x,
            y,
            log_x: self.log_x,
            log_y: self.log_y,
        })
    }

    fn draw(&self, scale: &Scale, out: &mut String) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let across = if self.log_x { steps_of_ten(scale.x) } else { ticks(scale.x, 7) };
        for (x, label) in across {
            let at = scale.x(x);
            let _ = writeln!(
                out,
                "<line class=\"grid\" x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{bottom}\"/>\
                 <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                bottom + 16.0
            );
        }
        let vertical = if self.log_y { decades(scale.y) } else { ticks(scale.y, 6) };
        for (y, label) in vertical {
            let at = scale.y(y);
            let _ = writeln!(
                out,
                "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                LEFT - 7.0,
                at + 4.0
            );
        }
        let middle = TOP + 0.5 * (bottom - TOP);
        let _ = writeln!(
            out,
            "<path class=\"axis\" d=\"M{LEFT} {TOP}V{bottom}H{right}\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(13 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            0.5 * (LEFT + right),
            HEIGHT - 8.0,
            escape(&self.x_label),
            escape(&self.y_label)
        );
        // A nested drawing cuts off what leaves the frame, and needs no name that could clash on a page.
        let _ = writeln!(
            out,
            "<svg x=\"{LEFT}\" y=\"{TOP}\" width=\"{w}\" height=\"{h}\" viewBox=\"{LEFT} {TOP} {w} {h}\">",
            w = right - LEFT,
            h = bottom - TOP
        );
        for (k, s) in self.series.iter().enumerate() {
            self.line(scale, k, s, out);
        }
        // Above all lines, or they would be in the way of the pointer.
        for (k, s) in self.series.iter().enumerate() {
            self.asked(scale, k, s, out);
        }
        out.push_str("</svg>\n");
    }

    fn line(&self, scale: &Scale, k: usize, s: &Series, out: &mut String) {
        let points = self.thinned(&s.points);
        let mut path = String::new();
        let mut pen_down = false;
        let mut single = None;
        for p in &points {
            if !self.is_drawn(*p) {
                pen_down = false;
                continue;
            }
            let (x, y) = (scale.x(p.0), scale.y(p.1).clamp(-1e5, 1e5));
            let _ = write!(path, "{}{x:.1} {y:.1}", if pen_down { "L" } else { "M" });
            single = if path.matches('M').count() == 1 && !pen_down { Some((x, y)) } else { None };
            pen_down = true;
        }
        if let Some((x, y)) = single {
            let _ = writeln!(
                out,
                "<circle class=\"dot c{}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>",
                k % COLORS.len()
            );
        } else if !path.is_empty() {
            let name = escape(&s.name);
            let _ =
                writeln!(out, "<path class=\"line {}\" d=\"{path}\"><title>{name}</title></path>", class(k));
        }
    }

    /// Places that tell their numbers when pointed at.
    fn asked(&self, scale: &Scale, k: usize, s: &Series, out: &mut String) {
        const MOST: usize = 48;
        let drawn: Vec<(f64, f64)> = s.points.iter().copied().filter(|p| self.is_drawn(*p)).collect();
        let every = drawn.len().div_ceil(MOST).max(1);
        for (x, y) in drawn.iter().step_by(every) {
            let _ = writeln!(
                out,
                "<circle class=\"ask c{}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"5\"><title>{}: {} {}, {} {}</title></circle>",
                k % COLORS.len(),
                scale.x(*x),
                scale.y(*y).clamp(-1e5, 1e5),
                escape(&s.name),
                escape(&self.x_label),
                number(*x),
                escape(&self.y_label),
                number(*y)
            );
        }
    }

    /// No more points than the paper can show. Over time the extremes of each stretch stay, so that no spike is lost.
    fn thinned(&self, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        const MOST: usize = 900;
        if points.len() <= MOST {
            return points.to_vec();
        }
        if self.same_scale {
            let every = points.len().div_ceil(MOST);
            let last = points.last().copied();
            return points.iter().copied().step_by(every).chain(last).collect();
        }
        let mut kept = Vec::with_capacity(MOST);
        for stretch in points.chunks(points.len().div_ceil(MOST / 2)) {
            if stretch.iter().any(|p| !self.is_drawn(*p)) {
                kept.extend_from_slice(stretch);
                continue;
            }
            let by = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
            let (low, high) = (stretch.iter().min_by(by), stretch.iter().max_by(by));
            let mut ends: Vec<(f64, f64)> = low.into_iter().chain(high).copied().collect();
            ends.sort_by(|a, b| a.0.total_cmp(&b.0));
            ends.dedup();
            kept.extend(ends);
        }
        kept
    }
}

/// A little room on both sides; never empty.
fn widen((low, high): (f64, f64), part: f64) -> (f64, f64) {
    let room = (high - low) * part;
    let least = 1e-9 * low.abs().max(high.abs());
    if room > least {
        (low - room, high + room)
    } else if high - low > least {
        (low, high)
    } else {
        let room = if low == 0.0 { 1.0 } else { 0.05 * low.abs() };
        (low - room, high + room)
    }
}

/// Round numbers in a range, about so many.
fn ticks((low, high): (f64, f64), about: usize) -> Vec<(f64, String)> {
    let rough = (high - low) / about as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|k| k * power).into_iter().find(|s| *s >= rough).unwrap_or(rough);
    let first = (low / step).ceil() as i64;
    (first..first + 20)
        .map(|k| k as f64 * step)
        .take_while(|x| *x <= high + 1e-9 * step)
        .map(|x| (x, tick_label(x, step)))
        .collect()
}

/// As many digits as the step between ticks asks for.
fn tick_label(x: f64, step: f64) -> String {
    let text = if x == 0.0 {
        "0".to_owned()
    } else if (1e-4..1e6).contains(&step) || (x.abs() < 1e6 && step >= 1e-4) {
        format!("{x:.*}", (-step.log10().floor()).max(0.0) as usize)
    } else {
        let digits = (x.abs().log10().floor() - step.log10().floor()).clamp(0.0, 6.0) as usize;
        format!("{x:.digits$e}")
    };
    text.replace('-', "−")
}

/// Powers of ten in a range of exponents.
fn decades((low, high): (f64, f64)) -> Vec<(f64, String)> {
    let every = ((high - low) / 7.0).ceil().max(1.0) as i64;
    let (low, high) = (low as i64, high as i64);
    (low..=high)
        .filter(|e| e.rem_euclid(every) == 0)
        .map(|e| {
            let exponent = e.to_string().replace('-', "−");
            (10f64.powi(e as i32), format!("10<tspan dy=\"-5\" font-size=\"9\">{exponent}</tspan>"))
        })
        .collect()
}

/// Numbers on a logarithmic axis of any length, its ends given as powers of ten: 1, 2 and 5 where there is room.
fn steps_of_ten((low, high): (f64, f64)) -> Vec<(f64, String)> {
    let of: &[f64] = if high - low > 2.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let (first, last) = (low.floor() as i32, high.ceil() as i32);
    (first..=last)
        .flat_map(|e| of.iter().map(move |k| k * 10f64.powi(e)))
        .filter(|x| (low - 1e-9..=high + 1e-9).contains(&x.log10()))
        .map(|x| {
            let short = if (1e-3..1e5).contains(&x) {
                format!("{}", (1e6 * x).round() / 1e6)
            } else {
                format!("{x:e}")
            };
            (x, short)
        })
        .collect()
}

/// A number to read in a tooltip.
fn number(x: f64) -> String {
    match x.abs() {
        0.0 => "0".to_owned(),
        a if (1e-3..1e5).contains(&a) => format!("{x:.4}"),
        _ => format!("{x:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>) -> Chart {
        let one = Series { name: "a <b> & c".into(), points };
        let two = Series { name: "second".into(), points: vec![(0.0, 1.0), (1.0, 2.0)] };
        Chart { title: "T".into(), x_label: "time, s".into(), series: vec![one, two], ..Chart::default() }
    }

    /// Opening and closing tags in balance: what a browser would forgive and a reader of XML would not.
    fn is_balanced(html: &str) -> bool {
        let mut open = Vec::new();
        for tag in html.split('<').skip(1).filter_map(|t| t.split('>').next()) {
            if tag.starts_with('!')
                || tag.ends_with('/')
                || tag.starts_with("meta")
                || tag.starts_with("link")
            {
                continue;
            }
            let name = tag.split([' ', '\n']).next().unwrap_or("");
            match name.strip_prefix('/') {
                Some(name) => {
                    if open.pop() != Some(name) {
                        return false;
                    }
                }
                None => open.push(name),
            }
        }
        open.is_empty()
    }

    #[test]
    fn pages_are_whole_and_safe_from_names() {
        let mut page = Page::new("Title <script>", "below");
        page.heading("Part");
        page.text("a < b");
        page.table(&Table { columns: vec!["n".into()], rows: vec![vec!["1".into()], vec!["2".into()]] });
        page.charts(&[chart(vec![(0.0, 1.0), (1.0, -3.0)])]);
        let html = page.write();
        assert!(is_balanced(&html), "{html}");
        assert!(!html.contains("<script") && html.contains("a &lt;b&gt; &amp; c"));
        assert!(!html.contains("http"), "nothing from elsewhere");
        for part in ["prefers-color-scheme: dark", "<title>second", "class=\"legend\"", "stroke-dasharray"] {
            assert!(html.contains(part), "{part}");
        }
    }

    #[test]
    fn odd_numbers_make_no_odd_drawing() {
        let nan = f64::NAN;
        let inf = f64::INFINITY;
        for points in [
            vec![],
            vec![(0.0, nan)],
            vec![(0.0, 0.0)],
            vec![(1.0, 5.0), (1.0, 5.0)],
            vec![(0.0, 1e300), (1.0, -1e300), (2.0, inf)],
            vec![(0.0, 1e-300), (1.0, nan), (2.0, 3e-300)],
            (0..5000).map(|i| (f64::from(i), if i == 777 { 9.0 } else { 0.5 })).collect(),
        ] {
            for (log_y, same_scale) in [(false, false), (true, false), (false, true)] {
                let c = Chart { log_y, same_scale, ..chart(points.clone()) };
                let svg = c.svg();
                assert!(is_balanced(&svg) && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
                assert!(svg.len() < 200_000);
            }
        }
        assert!(Chart::default().svg().contains("nothing to draw"));
    }

    #[test]
    fn spikes_survive_thinning() {
        let points: Vec<(f64, f64)> =
            (0..5000).map(|i| (f64::from(i), if i == 777 { 9.0 } else { 0.5 })).collect();
        let kept = chart(vec![]).thinned(&points);
        assert!(kept.len() <= 900 && kept.contains(&(777.0, 9.0)));
    }

    #[test]
    fn ticks_are_round() {
        let labels = |r, n| ticks(r, n).into_iter().map(|t| t.1).collect::<Vec<_>>();
        assert_eq!(labels((0.0, 2.0), 4), ["0", "0.5", "1.0", "1.5", "2.0"]);
        assert_eq!(labels((-1e-7, 1e-7), 2), ["−1e−7", "0", "1e−7"]);
        assert_eq!(decades((-9.0, 0.0)).len(), 5);
    }
}
