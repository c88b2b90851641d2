//! The generic layer of the scene language: tokens, blocks, recovery and layout.

use linkwork::scene::lex::{Lexer, Token, TokenKind};
use linkwork::scene::{Report, fmt, parse_text};
use proptest::prelude::*;

const APPENDIX_A: &str = include_str!("fixtures/appendix-a.lw");

fn codes(text: &str) -> Vec<&'static str> {
    parse_text(text).1.diagnostics.iter().map(|d| d.code).collect()
}

/// Token kinds and spellings without comments.
fn tokens(text: &str) -> Vec<(TokenKind, String)> {
    all_tokens(text).into_iter().filter(|(t, _)| !t.is_comment()).map(|(t, s)| (t.kind, s)).collect()
}

fn comments(text: &str) -> Vec<String> {
    let squeeze = |s: String| s.split_whitespace().collect::<Vec<_>>().join(" ");
    all_tokens(text).into_iter().filter(|(t, _)| t.is_comment()).map(|(_, s)| squeeze(s)).collect()
}

fn all_tokens(text: &str) -> Vec<(Token, String)> {
    let mut lexer = Lexer::new(text);
    let mut list = Vec::new();
    loop {
        let token = lexer.next_with_comments();
        if token.kind == TokenKind::Eof {
            return list;
        }
        list.push((token, token.span.of(text).to_owned()));
    }
}

fn check_layout(text: &str) -> String {
    let once = fmt(text).unwrap_or_else(|d| panic!("{d:?}\n{text}"));
    assert_eq!(tokens(text), tokens(&once), "tokens changed:\n{text}\n---\n{once}");
    assert_eq!(comments(text), comments(&once), "comments changed:\n{text}\n---\n{once}");
    assert_eq!(once, fmt(&once).unwrap(), "not idempotent:\n{text}\n---\n{once}");
    once
}

#[test]
fn appendix_a_has_the_printed_form() {
    let (file, report) = parse_text(APPENDIX_A);
    assert_eq!(report, Report::default());
    assert_eq!(file.blocks.len(), 12);
    let words = |word: &str| file.clauses.iter().filter(|c| file.str(c.word) == word).count();
    assert_eq!((words("hinge"), words("angle")), (9, 10));
}

#[test]
fn headers_are_told_from_first_clauses() {
    let (file, report) = parse_text("solid a b-1 c: mass 1 end joint pin; object2 a; end ignore a c; end");
    assert_eq!(report, Report::default());
    let labels: Vec<_> = file.blocks.iter().map(|b| file.labels(b).len()).collect();
    assert_eq!(labels, [3, 0, 0]);
    assert_eq!(file.str(file.clauses(&file.blocks[2])[0].word), "a");
}

#[test]
fn one_mistake_gives_one_message() {
    for (text, code) in [
        ("soild a: mass 1; at 0 0 0; end solid b: mass 1; end", "E101"),
        ("solid a: mass 1; solid b: mass 1; end", "E103"),
        ("solid a: mass 1 solid b: mass 1; end", "E103"),
        ("solid a: mass 1; material b: friction 1; end", "E103"),
        ("solid a: mass 1; edn solid b: mass 1; end", "E104"),
        ("solid a: mas 1; end", "E104"),
        ("solid a mass 1; end", "E104"),
        ("solid a: mass 1; 5 6 7; end", "E105"),
        ("solid a: mass 1;; end", "E106"),
        ("solid : mass 1; end", "E107"),
        ("solid end: mass 1; end", "E107"),
        ("solid a: mass: 1; end", "E108"),
        ("solid a: mass 1; end end", "E102"),
        ("solid a: mass 1; end at 0 0 0; end", "E102"),
        ("7 solid a: mass 1; end", "E102"),
        ("solid a: mass 1; /* never closed", "E004"),
        ("scene title \"open; end\nend", "E005"),
        ("solid a: at 0, 1, 0; end", "E003"),
        ("solid a: mass 1.2.3; end", "E006"),
        ("solid a: mass -; end", "E006"),
        ("solid a: mass 1e999; end", "E007"),
        ("solid a: mass -inf; end", "E007"),
        ("solid a: mass 1/0; end", "E008"),
        ("solid a: mass 3kg; end", "E009"),
        ("solid a: mass 1/2/3; end", "E006"),
        ("solid a: mass 1\u{a0}; end", "E003"),
    ] {
        let mut found = codes(text);
        found.dedup();
        assert_eq!(found, [code], "{text}\n{}", parse_text(text).1.render("t.lw", text, false));
    }
}

#[test]
fn all_errors_come_in_one_go() {
    let text = "solid a: mass 1.2.3; colour 1; end\nbody x: end\nsolid b: mass 1; at 0 0 @ ;\n";
    assert_eq!(codes(text), ["E006", "E104", "E101", "E003", "E103"]);
}

#[test]
fn hostile_texts_take_linear_time() {
    let n = 300_000;
    let texts = [
        "solid ".repeat(n),
        "solid a: ".repeat(n),
        "watch ".repeat(n),
        "/**/ ".repeat(n),
        format!("solid a: mass {}1; end", "/**/ ".repeat(n)),
        format!("solid {}: mass 1; end", "a ".repeat(n)),
        format!("solid {}", "a".repeat(n * 5)),
        format!("solid a: mass {}; end", "9".repeat(n)),
        ";".repeat(n * 3),
        "\"".repeat(n * 3),
        "@ ".repeat(n),
        "x ;".repeat(n),
        "end ".repeat(n),
        format!("watch {}; end", "a ".repeat(n)),
    ];
    for text in texts {
        let start = std::time::Instant::now();
        let (_, report) = parse_text(&text);
        let rendered = report.render("t.lw", &text, false);
        let _ = fmt(&text);
        let seconds = start.elapsed().as_secs_f64();
        assert!(rendered.len() < 200_000 && seconds < 5.0, "{} in {seconds} s", &text[..20]);
    }
}

#[test]
fn layout_of_a_scene() {
    let text = "scene   title \"x\" ;end\n\n\n\n// the wheel\nsolid wheel : mass 2 ; at 0 1 0; // here\n\n\n  \
                turn 0 0 1 30deg ;\n/* last */ end joint e: pin; object2 wheel;\nlimit r1 -1 / 2 1/2 end // tail\nwatch a\nb; end";
    let expected = "\
scene title \"x\"; end

// the wheel
solid wheel:
  mass 2;
  at 0 1 0; // here

  turn 0 0 1 30 deg;
  /* last */
end
joint e: pin;
  object2 wheel;
  limit r1 -1/2 1/2
end // tail
watch
  a b;
end
";
    assert_eq!(check_layout(text), expected);
}

#[test]
fn layout_keeps_every_comment() {
    check_layout(APPENDIX_A);
    check_layout("/*a*/solid/*b*/x/*c*/:/*d*/mass/*e*/1/*f*//2/*g*/;/*h*/at 0 0 0/*i*/end/*j*/");
    check_layout("//a\nsolid//b\nx//c\n://d\nmass//e\n1//f\n/2//g\n;//h\nat 0 0 0//i\nend//j");
    check_layout("joint // c\npin; end joint /* d */ pin; end joint /* e\n */ x: pin; end");
    check_layout("/* two\r\n lines */\r\nsolid a: mass 1; /* x */ /* y\n */ at 0 0 0; end\r\n");
    check_layout(&format!("skin s: over {}; end", "segment ".repeat(60)));
    check_layout("");
    check_layout("// only");
}

#[test]
fn diagnostics_as_records() {
    let text = "scene up y; end\n  solid é: mss 2; end";
    let (_, report) = parse_text(text);
    let json = serde_json::to_value(report.records("a.lw", text)).unwrap();
    assert_eq!(json[0]["code"], "E104");
    assert_eq!((json[0]["line"].as_u64(), json[0]["column"].as_u64()), (Some(2), Some(12)));
    assert_eq!(json[0]["source"], "  solid é: mss 2; end");
    assert_eq!(json[0]["hint"], "did you mean `mass`?");
    assert_eq!(json[0]["severity"], "error");
}

/// Pieces that make near-miss scenes: structure, words, numbers and comments in any order.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("solid a: "),
        Just("joint pin; "),
        Just("end\n"),
        Just("; "),
        Just("mass "),
        Just("at 0 1 0"),
        Just("material x"),
        Just("watch a b;"),
        Just("1/60"),
        Just("-.4 deg"),
        Just("/"),
        Just("/* c */"),
        Just("// c\n"),
        Just("\""),
        Just("\n\n"),
        Just(":"),
        Just("é"),
        Just("\0"),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Well-formed blocks with comments and line breaks anywhere.
fn well_formed() -> impl Strategy<Value = String> {
    let gap = || {
        prop_oneof![
            4 => Just(" "), 2 => Just("\n"), 1 => Just("\n\n\n"), 1 => Just(" // note\n"), 1 => Just(" /* a\n  b */ "),
            1 => Just(" /*c*/"), 1 => Just("\r\n"), 1 => Just(" /* x */ /* y */\n")
        ]
    };
    let words = prop_oneof![
        Just("solid a : mass 1 ; at 0 1 / 3 -2 ; end"),
        Just("joint pin ; object2 a ; limit r1 -9 deg 10 % end"),
        Just("joint j : ball ; end"),
        Just("watch a b ; end"),
        Just("scene title \"a  b\" ; end"),
    ];
    prop::collection::vec((words, prop::collection::vec(gap(), 30)), 0..5).prop_map(|blocks| {
        let mut text = String::new();
        for (words, gaps) in blocks {
            let mut in_string = false;
            for (word, gap) in words.split(' ').zip(gaps.iter().cycle()) {
                text.push_str(word);
                in_string ^= word.matches('"').count() % 2 == 1;
                text.push_str(if in_string { " " } else { gap });
            }
            text.push(' ');
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics(text in ".{0,200}") {
        let (_, report) = parse_text(&text);
        report.render("t.lw", &text, true);
        report.records("t.lw", &text);
        let _ = fmt(&text);
    }

    #[test]
    fn soup_keeps_its_tokens_when_it_parses(text in soup()) {
        let (_, report) = parse_text(&text);
        report.render("t.lw", &text, false);
        if fmt(&text).is_ok() {
            check_layout(&text);
        }
    }

    #[test]
    fn layout_is_idempotent_and_keeps_tokens(text in well_formed()) {
        check_layout(&text);
    }
}
