//! The scenes that come with the program: their text, what they show and what to try, and a drawing of each.

use linkwork::formats::{Background, SvgOptions, svg};
use linkwork::generate;
use linkwork::session::Session;
use rust_embed::RustEmbed;
use serde::Serialize;

#[derive(RustEmbed)]
#[folder = "../../scenes/"]
struct Scenes;

/// What a hand can do with each scene, the inviting ones first, and the figure it stands for. What the files themselves
/// say under `Try:` is about their text and the command line.
const TRY: [(&str, &str, &str); 64] = [
    (
        "fourbar",
        "",
        "drag the tip of the triangle. Then pull the blue rocker further than it can go: the gap is shown in red.",
    ),
    ("jansen", "", "grab the foot in mid-stride. In Kinematic mode, turn the red crank by hand."),
    (
        "stewart",
        "",
        "tilt the plate by its rim; hold Shift to keep it level. Pull it beyond the reach of its legs.",
    ),
    (
        "delta",
        "",
        "press Space: three cranks weave the plate through the air. Trace its tip; try to tilt it: you cannot.",
    ),
    (
        "hoberman",
        "",
        "press Space: the ring opens and closes. Switch off “push” under Parts and do it by hand.",
    ),
    (
        "mesh5",
        "Faure 1998, Figure 5",
        "lift a corner. It follows roughly while you drag and closes to a micrometre when you pause: watch the gap below.",
    ),
    (
        "characters",
        "Faure 1998, Figure 3 · Faure 1999, Figure 2",
        "pull an acrobat by the hand: all ten follow, and nobody lets go.",
    ),
    (
        "scissor-lift",
        "",
        "push the platform down, or push the slide at its foot in: one degree of freedom moves nine solids.",
    ),
    (
        "thrown",
        "Hong et al. 2005, Figure 5",
        "watch the sheet catch both balls. Throw one again, or pull the sheet by its middle and let go.",
    ),
    (
        "hung-cloth",
        "Hong et al. 2005, Figure 6",
        "watch the ball push into the cloth. Grab the cloth by its hem; switch on Strain under Settings.",
    ),
    ("drape", "", "press Space: the cloth falls. Pull it off the ball by a corner."),
    (
        "tablecloth",
        "",
        "press Space: fifty by fifty vertices fall and fold, in slow motion. Pull the cloth off by a corner.",
    ),
    ("flag", "", "watch it flap. Hold a corner and let go; change the wind under Settings."),
    (
        "rip",
        "",
        "press Space: the ball tears its way through. Step back and the sheet is whole again; pull the rest apart by hand.",
    ),
    (
        "trampoline",
        "",
        "press Space: it bounces the balls back. Lift one higher, or pull down the sheet beneath it.",
    ),
    (
        "hammock",
        "",
        "press Space: he drops into the hammock and comes to rest. Lift him by the head, or roll him out.",
    ),
    (
        "blanket",
        "",
        "press Space: the linkage moves under the blanket. Pull the hem down: the motor feels it.",
    ),
    ("jelly", "", "press Space: it wobbles down the stairs. Drag it back to the top by a corner."),
    (
        "squeeze",
        "",
        "press Space: the press squeezes the block. Stop the crank by hand, or take the block out.",
    ),
    (
        "press",
        "",
        "press Space: the ball is squeezed flat and springs back. Take it out while the plate is up.",
    ),
    ("ribbon", "", "press Space: it folds up on the floor, layer upon layer. Pull it back up by its end."),
    (
        "marble-machine",
        "",
        "press Space: the stairs lift the marbles. Catch one and put it back a few steps.",
    ),
    ("runner", "", "press Space: it jogs. Lift it by the body and let go, or hold a foot."),
    ("peaucellier", "", "press Space and trace the red knob: an exact straight line. Stop it by any bar."),
    ("klann", "", "press Space: one crank drives four legs. Trace a foot, or hold one: all four stop."),
    (
        "reach",
        "",
        "swing the elbow: the hand stays on its target. Switch off “grip” under Parts to free the arm.",
    ),
    (
        "snake",
        "Gascuel & Gascuel 1994, Figure 5",
        "press Space: the tail slides to the stop and the snake whips back. Catch it in flight.",
    ),
    (
        "circle",
        "Faure 1998, Figure 4",
        "press Space, catch the particle and throw it. It never leaves the circle.",
    ),
    ("figure2", "Faure 1998, Figure 2", "pull the discs apart: the bar follows and turns."),
    (
        "shaken-plate",
        "Faure 1998, Figure 6",
        "grab the lowest rung while the plate shakes, and pull the ladder tight.",
    ),
    (
        "otary",
        "Gascuel & Gascuel 1994, Figure 6",
        "press Space: the seal nods and looks around. Drag the ball past the rim: it stays on the tray.",
    ),
    (
        "monocycle",
        "Gascuel & Gascuel 1994, Figure 7",
        "press Space: a push on the body rolls the wheel by friction, and the wheel drives the legs.",
    ),
    (
        "ladder",
        "Faure 1999, Figure 3",
        "press Space and it swings down. Catch the last rung and pull the ladder straight.",
    ),
    (
        "seaweed",
        "Faure 1999, Figure 4",
        "bend a plant and let go. Join two solids under Parts to tie both plants together.",
    ),
    (
        "pendulum",
        "Faure 1999, Figure 5",
        "press Space: it swings. Catch the plate, pull it aside and let go.",
    ),
    (
        "shape",
        "Faure 1999, Figure 6",
        "lift a corner: 320 bars, 1557 constraints. Then set the budget to 1 ms and watch the error next to it.",
    ),
    (
        "arm2",
        "Hong 2005, Figures 1 to 3",
        "press Space and it falls. Under Compare, run three methods side by side.",
    ),
    (
        "arm10",
        "Hong 2005, Figure 4",
        "press Space, catch the end and crack it like a whip. Watch the gap under Plots.",
    ),
    (
        "bead-on-curve",
        "",
        "drag the red bead around the knot. Press Space: it slides. Catch it and throw it.",
    ),
    (
        "challenge-line",
        "",
        "one number is wrong. Trace the red knob; “joint pivot” under Text sets where the yellow rocker is pinned.",
    ),
    (
        "challenge-tray",
        "",
        "press Space: the ball rolls. Change “joint upper-pivot” under Text until it stays put.",
    ),
    (
        "watt",
        "",
        "press Space and trace the red knob: nearly a straight line. Hold the piston against the beam.",
    ),
    (
        "chebyshev",
        "",
        "press Space and trace the red knob: flat for half a turn. In Kinematic mode, turn the crank by hand.",
    ),
    ("geneva", "", "press Space: a quarter turn, then a pause. Turn the wheel by hand during the pause."),
    ("tensegrity", "", "press Space: the table jolts it, and it stays up. Lift it by one end, or throw it."),
    (
        "differential",
        "",
        "press Space: the body follows the average of both sides. Hold one rocker and watch the other.",
    ),
    ("bricard", "", "drag any corner: by counting freedoms it should be rigid, yet it moves."),
    ("cardan-shaft", "", "hold a turning flange back by its rim, then let go."),
    ("sarrus", "", "press the platform down: a straight line, made from pins alone."),
    ("screw-press", "", "turn the handle by a knob: the platen goes down 0.2 m per turn."),
    ("slider-crank", "", "hold the piston against the motor. In Kinematic mode, turn the wheel by hand."),
    (
        "walker",
        "",
        "in Kinematic mode, drag the red crankshaft around: six legs walk. Or lift the whole beast by one foot.",
    ),
    ("stack", "", "press Space, then pull a box out of the middle."),
    ("domino", "", "press Space: the row falls. Start over and push it from the other end."),
    ("card-house", "", "press Space: it stands. Take a card out, or nudge it gently with a pull (Alt)."),
    ("arch", "", "press Space, then push down on the crown, and pull the keystone out."),
    ("cradle", "", "press Space. Lift two balls and let go: two swing out at the other end."),
    ("drum-chain", "", "press Space: friction holds it. Pull at the heavy end until it slides."),
    ("ragdoll", "", "press Space; catch it on the stairs, lift it by the head and let go."),
    ("strandbeest", "", "a motor makes it walk. Hold it back by a leg, or lift it and put it down."),
    ("excavator", "", "press Space: three cylinders lift the load. Push on the arm while it moves."),
    ("marble-run", "", "press Space, catch a marble and throw it back to the top."),
    ("hammer", "", "press Space: the hammer strikes, and every pin stays closed. Swing it again by hand."),
    ("acrobats", "", "press Space: they stand and juggle. Push the one on top until they fall."),
];

/// Figures that `linkwork generate` makes: name here, kind, sizes, title.
const MADE: [(&str, &str, &[usize], &str); 5] = [
    ("ladder", "ladder", &[4, 5], "A ladder of bars"),
    ("seaweed", "seaweed", &[2], "Seaweed"),
    ("shape", "net", &[11, 11], "A shape of 320 solids"),
    ("arm2", "chain", &[2], "An arm of two links"),
    ("arm10", "chain", &[10], "An arm of ten links"),
];

/// Scenes that cost more than tests which walk all scenes could pay; those have tests of their own.
const LARGE: &str = "large/";

/// What the page's gallery shows of a scene.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Item {
    /// File name without its ending, or that of a made one.
    pub id: String,
    /// Title of the scene.
    pub title: String,
    /// The papers' figure that it stands for, if any.
    pub figure: String,
    /// First sentence of its comment.
    pub about: String,
    /// What to do with it.
    pub attempt: String,
    /// It goes away from where it starts: the camera goes along.
    pub travels: bool,
}

/// Scenes that walk or roll away, or fall far below where they stood.
const TRAVELS: [&str; 4] = ["walker", "strandbeest", "monocycle", "characters"];

/// Every scene, the inviting ones first.
pub fn items() -> Vec<Item> {
    // Scenes in other folders are there for tests.
    let files = Scenes::iter().filter_map(|file| {
        let file = file.strip_prefix(LARGE).unwrap_or(&file);
        file.strip_suffix(".lw").filter(|id| !id.contains('/')).map(str::to_owned)
    });
    let made = MADE.iter().map(|(id, ..)| (*id).to_owned());
    let mut items: Vec<Item> =
        files.chain(made).filter_map(|id| text(&id).map(|text| describe(id, &text))).collect();
    items.sort_by(|a, b| (place(&a.id), &a.id).cmp(&(place(&b.id), &b.id)));
    items
}

fn place(id: &str) -> usize {
    TRY.iter().position(|(name, ..)| *name == id).unwrap_or(TRY.len())
}

/// The entry of the file that the viewer was opened with: the way back to it.
pub fn own(name: &str) -> Item {
    Item {
        id: String::new(),
        title: name.to_owned(),
        figure: String::new(),
        about: "The file that the viewer was opened with.".into(),
        attempt: "edit it here or in your editor: the viewer reloads it whenever it is saved.".into(),
        travels: false,
    }
}

/// The text of a scene.
pub fn text(id: &str) -> Option<String> {
    if let Some((_, kind, sizes, title)) = MADE.iter().find(|(name, ..)| *name == id) {
        let text = generate::generate(kind, sizes, 1.0).ok()?;
        // Under the name that the gallery gives it.
        let (before, rest) = text.split_once("title \"")?;
        let (_, after) = rest.split_once('"')?;
        return Some(format!("{before}title \"{title}\"{after}"));
    }
    let file = Scenes::get(&format!("{id}.lw")).or_else(|| Scenes::get(&format!("{LARGE}{id}.lw")))?;
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
    let title = text.split_once("title \"").and_then(|(_, rest)| rest.split_once('"'));
    let title = title.map_or_else(|| id.clone(), |(t, _)| t.to_owned());
    // The comments of generated ones open with a title, which is no sentence.
    let generated = text.contains("linkwork generate ");
    let about = without_title(&paragraphs.nth(usize::from(generated)).unwrap_or_default(), &title);
    let (figure, attempt) = match TRY.get(place(&id)) {
        Some((_, figure, attempt)) => ((*figure).to_owned(), (*attempt).to_owned()),
        None => (
            String::new(),
            paragraphs.find_map(|p| p.strip_prefix("Try: ").map(str::to_owned)).unwrap_or_default(),
        ),
    };
    let travels = TRAVELS.contains(&id.as_str());
    Item { id, title, figure, about, attempt, travels }
}

/// A sentence that opens with the title, which stands above it already, without that.
fn without_title(about: &str, title: &str) -> String {
    let Some(rest) = about.strip_prefix(title).and_then(|r| r.strip_prefix(": ")) else {
        return about.to_owned();
    };
    let mut letters = rest.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
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
            assert!(!item.about.starts_with(&format!("{}: ", item.title)), "{item:?}");
            assert!(!item.attempt.is_empty() && !item.attempt.contains("*/"), "{item:?}");
        }
        assert_eq!(items.iter().filter(|i| i.travels).count(), TRAVELS.len());
        // Nothing is described that is not there, and nothing is there without words for a hand.
        assert_eq!(items.iter().map(|i| i.id.as_str()).collect::<Vec<_>>(), TRY.map(|(id, ..)| id));
        assert!(text("../Cargo").is_none() && drawing("no-such-scene").is_none());
    }

    #[test]
    fn every_figure_of_the_papers_that_shows_a_mechanism_is_one_click_away() {
        let shown = items().into_iter().map(|i| i.figure).collect::<Vec<_>>().join(" · ");
        let figures = [
            ("Faure 1998", &["2", "3", "4", "5", "6"][..]),
            ("Faure 1999", &["2", "3", "4", "5", "6"]),
            ("Gascuel & Gascuel 1994", &["5", "6", "7"]),
        ];
        for (paper, numbers) in figures {
            for n in numbers {
                assert!(shown.contains(&format!("{paper}, Figure {n}")), "{paper}, Figure {n}");
            }
        }
        assert!(shown.contains("Hong 2005, Figures 1 to 3") && shown.contains("Hong 2005, Figure 4"));
        // The sizes that the papers print.
        let sizes = |id: &str| {
            let session =
                Session::open(&text(id).expect("a scene"), &mut |_| Err("none".into())).expect("good");
            (session.mechanism().solid_count(), session.mechanism().scalar_constraints())
        };
        assert_eq!(sizes("shape"), (320, 1557));
        assert_eq!(sizes("seaweed").1, 216);
    }

    #[test]
    fn drawings_are_drawings() {
        assert!(drawing("fourbar").is_some_and(|d| d.starts_with("<svg") && d.contains("</svg>")));
    }
}
