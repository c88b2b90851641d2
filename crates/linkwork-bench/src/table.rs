//! One table for people (Markdown with aligned columns) and for programs (JSON).

use serde_json::{Map, Value, json};
use std::io::{Error, Write};

/// A number and how it is shown.
pub struct Cell {
    value: Value,
    shown: String,
}

/// Words.
pub fn text(s: impl Into<String>) -> Cell {
    let s = s.into();
    Cell { value: Value::from(s.clone()), shown: s }
}
/// A count.
pub fn int(n: usize) -> Cell {
    Cell { value: n.into(), shown: n.to_string() }
}
/// Seconds, shown in milliseconds with three digits.
pub fn ms(seconds: f64) -> Cell {
    let t = seconds * 1e3;
    let places = if t >= 100.0 { 0 } else { (2 - t.max(1e-9).log10().floor() as i32).clamp(0, 5) as usize };
    Cell { value: json!(t), shown: format!("{t:.places$}") }
}
/// A power of ten.
pub fn sci(x: f64) -> Cell {
    Cell { value: json!(x), shown: if x == 0.0 { "0".into() } else { format!("{x:.1e}") } }
}
/// Three digits.
pub fn number(x: f64) -> Cell {
    let places = (2 - x.abs().max(1e-9).log10().floor() as i32).clamp(0, 3) as usize;
    Cell { value: json!(x), shown: format!("{x:.places$}") }
}
/// Nothing to say.
pub fn none() -> Cell {
    Cell { value: Value::Null, shown: String::new() }
}

impl Cell {
    /// The same value with a mark behind it: a target that was missed.
    pub fn marked(mut self, missed: bool) -> Self {
        if missed {
            self.shown.push_str(" !");
        }
        self
    }
}

/// A table under construction.
pub struct Table {
    caption: String,
    /// What is shown, and its key in JSON.
    head: Vec<(String, String)>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table. A heading `it@fall iterations` shows as `it` and is `fall iterations` in JSON.
    pub fn new(caption: impl Into<String>, head: &[&str]) -> Self {
        Self {
            caption: caption.into(),
            head: head
                .iter()
                .map(|h| h.split_once('@').unwrap_or((h, h)))
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
                .collect(),
            rows: Vec::new(),
        }
    }
    /// Adds a line.
    pub fn push(&mut self, row: Vec<Cell>) {
        assert_eq!(row.len(), self.head.len(), "columns of {:?}", self.head);
        self.rows.push(row);
    }
    /// Markdown, with the caption if asked for.
    fn write(&self, out: &mut dyn Write, caption: bool) -> Result<(), Error> {
        let width: Vec<usize> = (0..self.head.len())
            .map(|k| {
                let cells = self.rows.iter().map(|r| r[k].shown.chars().count());
                cells.chain([self.head[k].0.chars().count()]).max().unwrap_or(0)
            })
            .collect();
        let words = |k: usize| self.rows.iter().any(|r| r[k].value.is_string());
        if caption {
            writeln!(out, "\n{}", self.caption)?;
        }
        writeln!(out)?;
        let line = |out: &mut dyn Write, cells: Vec<&str>| -> Result<(), Error> {
            for (k, c) in cells.iter().enumerate() {
                let w = width[k];
                if words(k) { write!(out, "| {c:<w$} ")? } else { write!(out, "| {c:>w$} ")? }
            }
            writeln!(out, "|")
        };
        line(out, self.head.iter().map(|h| h.0.as_str()).collect())?;
        for k in 0..self.head.len() {
            write!(out, "|{}{}", "-".repeat(width[k] + 1), if words(k) { "-" } else { ":" })?;
        }
        writeln!(out, "|")?;
        for r in &self.rows {
            line(out, r.iter().map(|c| c.shown.as_str()).collect())?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let row = |r: &Vec<Cell>| {
            let pairs = self.head.iter().zip(r).map(|(h, c)| (h.1.clone(), c.value.clone()));
            Value::Object(pairs.collect::<Map<_, _>>())
        };
        json!({ "caption": self.caption, "rows": self.rows.iter().map(row).collect::<Vec<_>>() })
    }
}

/// Prints the tables and writes them to `out/bench/NAME.json`, and into the document if one is named: table `k` between
/// the lines `<!-- NAME k -->` and `<!-- end -->`.
pub fn publish(name: &str, machine: &Value, tables: &[Table], document: Option<&str>) -> Result<(), Error> {
    for t in tables {
        t.write(&mut std::io::stdout().lock(), true)?;
    }
    if let Some(path) = document {
        let mut text = std::fs::read_to_string(path)?;
        for (k, t) in tables.iter().enumerate() {
            let mark = format!("<!-- {name} {} -->\n", k + 1);
            let Some(start) = text.find(&mark).map(|at| at + mark.len()) else { continue };
            let Some(end) = text[start..].find("<!-- end -->").map(|at| at + start) else { continue };
            let mut lines = Vec::new();
            t.write(&mut lines, false)?;
            lines.push(b'\n');
            text.replace_range(start..end, &String::from_utf8_lossy(&lines));
        }
        std::fs::write(path, text)?;
    }
    let all = json!({
        "benchmark": name, "machine": machine, "tables": tables.iter().map(Table::json).collect::<Vec<_>>()
    });
    std::fs::create_dir_all("out/bench")?;
    std::fs::write(format!("out/bench/{name}.json"), format!("{all:#}\n"))
}
