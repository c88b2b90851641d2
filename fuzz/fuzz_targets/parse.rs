//! Any bytes: lexing, parsing, checking, rendering, layout and writing back neither panic nor contradict each other.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linkwork::scene::lex::{Lexer, TokenKind};
use linkwork::scene::{fmt, load, load_bytes, write_poses};

/// Kinds and spellings of all tokens but comments.
fn tokens(text: &str) -> Vec<(TokenKind, &str)> {
    let mut lexer = Lexer::new(text);
    let next = || Some(lexer.next_token()).filter(|t| t.kind != TokenKind::Eof);
    std::iter::from_fn(next).map(|t| (t.kind, t.span.of(text))).collect()
}

fn files(name: &str) -> Result<Vec<u8>, String> {
    match name {
        "a.obj" => Ok(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n".to_vec()),
        // Lets the fuzzer write mesh files: the name is the content.
        _ => Ok(name.replace('|', "\n").into_bytes()),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let (text, scene, report) = load_bytes(bytes, &mut files);
    assert_eq!(scene.is_none(), report.has_errors());
    report.render("fuzz.lw", &text, false);
    report.records("fuzz.lw", &text);
    if let Ok(laid_out) = fmt(&text) {
        assert_eq!(tokens(&text), tokens(&laid_out));
        assert_eq!(fmt(&laid_out).as_ref(), Ok(&laid_out));
    }
    if let Some(scene) = scene {
        let moved = |id| {
            let mut pose = scene.mechanism.solid(id).pose;
            pose.translation.x += if pose.translation.x > 0.0 { -0.25 } else { 0.25 };
            pose
        };
        let written = write_poses(&text, &scene, moved);
        let (again, report) = load(&written, &mut files);
        let again = again.unwrap_or_else(|| panic!("{written}\n{}", report.render("written.lw", &written, false)));
        for (index, solid) in scene.mechanism.solids().iter().enumerate() {
            let id = again.mechanism.find(&solid.name).expect("every solid is written");
            let expected = if solid.is_fixed() { solid.pose } else { moved(linkwork::SolidId(index as u32)) };
            assert_eq!(again.mechanism.solid(id).pose.translation, expected.translation, "{}", solid.name);
        }
    }
});
