//! The workspace is scratch: a run that throws it away at every step, and goes through a snapshot, is the same run to
//! the bit. Every scene, every method.

use linkwork::formats::snapshot;
use linkwork::scene::load_bytes;
use linkwork::{AssembleConfig, Mechanism, Method, State, StepConfig, Workspace, assemble, step};
use std::path::Path;

fn scenes() -> Vec<(String, Mechanism)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "lw"));
    files.sort();
    let load = |f: &Path| {
        let mut mesh = |name: &str| std::fs::read(f.parent().unwrap().join(name)).map_err(|e| e.to_string());
        let (_, scene, _) = load_bytes(&std::fs::read(f).unwrap(), &mut mesh);
        (f.display().to_string(), scene.unwrap().mechanism)
    };
    files.iter().map(|f| load(f)).collect()
}

#[test]
fn a_workspace_can_be_thrown_away_at_any_time() {
    let mut compared = 0;
    for (name, m) in scenes() {
        let mut start = State::new(&m);
        assemble(&m, &mut start, &AssembleConfig::default());
        for method in Method::ALL {
            let c = StepConfig { method, ..Default::default() };
            let (mut kept, mut w) = (start.clone(), Workspace::new());
            let mut restored = start.clone();
            for k in 0..40 {
                let report = step(&m, &mut kept, &mut w, &c);
                let again = step(&m, &mut restored, &mut Workspace::new(), &c);
                assert_eq!(
                    kept.hash(),
                    restored.hash(),
                    "{name}, {}, step {k}: {report:?} {again:?}",
                    method.name()
                );
                if report.rejected.is_some() {
                    break;
                }
                restored = snapshot::restore(&m, &snapshot::save(&m, &restored)).unwrap();
                compared += 1;
            }
        }
    }
    assert!(compared > 1000, "{compared}");
}
