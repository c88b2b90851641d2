//! The reference page is true: its examples load, and it names every clause and every code.

use linkwork::scene::{Report, codes, load, vocabulary};

const PAGE: &str = include_str!("../../../docs/language.md");

fn examples() -> Vec<&'static str> {
    let behind_fences = PAGE.split("```lw\n").skip(1);
    behind_fences.map(|rest| rest.split("```").next().unwrap_or("")).collect()
}

#[test]
fn examples_load_without_a_word() {
    let examples = examples();
    assert!(examples.len() >= 12, "{} examples", examples.len());
    for text in examples {
        let (scene, report) = load(text, &mut |_| Err("no files here".into()));
        let expected = if text.contains("solid") || text.contains("particle") { 0 } else { 1 };
        assert_eq!(report.diagnostics.len(), expected, "{}", report.render("example", text, false));
        assert!(scene.is_some() && report != Report { omitted: 1, ..Report::default() });
    }
}

#[test]
fn every_word_and_code_is_explained() {
    for block in vocabulary::BLOCKS {
        assert!(PAGE.contains(block.keyword));
        for clause in block.clauses {
            assert!(PAGE.contains(&format!("`{}", clause.word)), "{} {}", block.keyword, clause.word);
        }
    }
    for word in vocabulary::METHODS.iter().chain(vocabulary::SOLVERS) {
        assert!(PAGE.contains(&format!("`{word}`")), "{word}");
    }
    for code in codes::ALL {
        assert!(PAGE.contains(&format!("| {} | {} |", code.id, code.meaning)), "{}", code.id);
    }
}
