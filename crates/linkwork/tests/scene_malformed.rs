//! Every malformed scene of the corpus gives exactly the messages a person has read and approved.

use linkwork::scene::{Diagnostic, codes, load_bytes};
use std::collections::BTreeSet;
use std::path::Path;

fn files(name: &str) -> Result<Vec<u8>, String> {
    match name {
        "broken.obj" => Ok(b"v 0 0 0\nv 1 0 0\nf 1 2 3\n".to_vec()),
        _ => Err("no such file".into()),
    }
}

#[test]
fn messages_are_as_approved() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/malformed");
    let mut names: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.retain(|name| name.ends_with(".lw"));
    names.sort();
    assert!(names.len() >= 50);
    let mut seen = BTreeSet::new();
    for name in &names {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let (text, scene, report) = load_bytes(&bytes, &mut files);
        assert!(scene.is_none() && report.has_errors(), "{name} loads");
        seen.extend(report.diagnostics.iter().map(|d: &Diagnostic| d.code));
        let rendered = report.render(name, &text, false);
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("malformed");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(name.trim_end_matches(".lw"), rendered));
    }
    // Errors that a small file cannot show, or that the model would have to refuse.
    let elsewhere = ["E002", "E010", "E414"];
    for code in codes::ALL.iter().filter(|c| c.id.starts_with('E') && !elsewhere.contains(&c.id)) {
        assert!(seen.contains(code.id), "no malformed scene shows {} ({})", code.id, code.meaning);
    }
}
