//! The scenes that come with the program: their text, what they show and what to try, and a drawing of each.

use linkwork::formats::{Background, SvgOptions, svg};
use linkwork::session::Session;
use rust_embed::RustEmbed;
use serde::Serialize;

#[derive(RustEmbed)]
#[folder = "../../scenes/"]
struct Scenes;

/// Shown first: those that reward a grab at once. The others follow by name.
const FIRST: [&str; 8] =
    ["fourbar", "jansen", "stewart", "mesh5", "characters", "scissor-lift", "reach", "snake"];

/// What the page's gallery shows of a scene.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Item {
    /// File name without its ending.
    pub id: String,
    /// Title of the scene.
    pub title: String,
    /// First sentence of its comment.
    pub about: String,
    /// What its comment says behind `Try:`.
    pub attempt: String,
}

/// Every scene, the inviting ones first.
pub fn items() -> Vec<Item> {
    let mut items: Vec<Item> = Scenes::iter()
        .filter_map(|file| {
            let id = file.strip_suffix(".lw")?.to_owned();
            let text = text(&id)?;
            Some(describe(id, &text))
        })
        .collect();
    let place = |id: &str| FIRST.iter().position(|f| *f == id).unwrap_or(FIRST.len());
    items.sort_by(|a, b| (place(&a.id), &a.id).cmp(&(place(&b.id), &b.id)));
    items
}

/// The entry of the file that the viewer was opened with: the way back to it.
pub fn own(name: &str) -> Item {
    Item {
        id: String::new(),
        title: name.to_owned(),
        about: "The file that the viewer was opened with.".into(),
        attempt: "edit it here or in your editor: the viewer reads it again whenever it is saved.".into(),
    }
}

/// The text of a scene.
pub fn text(id: &str) -> Option<String> {
    let file = Scenes::get(&format!("{id}.lw"))?;
    String::from_utf8(file.data.into_owned()).ok()
}

/// A small drawing of a scene as it stands once assembled.
pub fn drawing(id: &str) -> Option<String> {
    let session = Session::open(&text(id)?, &mut |_| Err("none".into())).ok()?;
    let options = SvgOptions { width: 320.0, background: Background::None, ..Default::default() };
    Some(svg(session.mechanism(), session.state(), &options))
}

fn describe(id: String, text: &str) -> Item {
    let comment = text.strip_prefix("/*").and_then(|t| t.split_once("*/")).map_or("", |(c, _)| c);
    let flat = |s: &str| s.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut paragraphs = comment.split("\n\n").map(flat).filter(|p| !p.is_empty());
    let about = paragraphs.next().unwrap_or_default();
    let attempt = paragraphs.find_map(|p| p.strip_prefix("Try: ").map(str::to_owned)).unwrap_or_default();
    let title = text.split_once("title \"").and_then(|(_, rest)| rest.split_once('"'));
    let title = title.map_or_else(|| id.clone(), |(t, _)| t.to_owned());
    Item { id, title, about, attempt }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scene_has_a_title_a_sentence_and_something_to_try() {
        let items = items();
        assert!(items.len() >= 15);
        assert_eq!(items[0].id, "fourbar");
        for item in &items {
            assert!(!item.title.is_empty() && !item.about.is_empty(), "{item:?}");
            assert!(!item.attempt.is_empty() && !item.attempt.contains("*/"), "{item:?}");
        }
        assert!(FIRST.iter().all(|f| items.iter().any(|i| i.id == *f)));
        assert!(text("../Cargo").is_none() && drawing("no-such-scene").is_none());
    }

    #[test]
    fn drawings_are_drawings() {
        assert!(drawing("fourbar").is_some_and(|d| d.starts_with("<svg") && d.contains("</svg>")));
    }
}
