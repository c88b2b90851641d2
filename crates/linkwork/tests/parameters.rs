//! Integrator, feedback, projection of velocities and form of distances, from a scene's `settings` and from a session's command.

use linkwork::scene::{Parameters, Scheme, load};
use linkwork::session::{Command, Session};

fn text(settings: &str) -> String {
    format!(
        "settings {settings} step 0.02; end
        particle bob: mass 1; at 1 0 0; end
        joint string: distance 1; object2 bob; frame1 0 0 0; frame2 0 0 0; end"
    )
}

fn opened(text: &str) -> Session {
    Session::open(text, &mut |_| Err("no files".into())).expect("a sound scene")
}

/// How far the bob is from its circle after two seconds.
fn drift(s: &mut Session) -> f64 {
    s.apply(Command::Step { count: 100 }).expect("it steps");
    (s.pose(linkwork::SolidId(1)).translation.length() - 1.0).abs()
}

#[test]
fn a_scene_says_how_its_method_works_and_a_session_does_so() {
    let plain = drift(&mut opened(&text("method baumgarte;")));
    let fine = drift(&mut opened(&text("method baumgarte; integrator rk4; alpha 5; beta 5;")));
    assert!(fine < 0.01 * plain, "Runge-Kutta is of fourth order: {fine} beside {plain}");
    let s = opened(&text("method baumgarte; integrator rk4; alpha 5; beta 2; squared-distances;"));
    let wanted = Parameters {
        integrator: Some(Scheme::Rk4),
        alpha: Some(5.0),
        beta: Some(2.0),
        squared_distances: true,
        ..Parameters::default()
    };
    assert_eq!(s.settings().parameters, wanted);
    // An edit of the text that takes them out takes them back.
    let mut s = s;
    s.apply(Command::SetText { text: text("method baumgarte;") }).unwrap();
    assert!(s.settings().parameters.is_default());
    s.apply(Command::Undo).unwrap();
    assert_eq!(s.settings().parameters, wanted);
}

#[test]
fn a_command_sets_them_and_the_log_repeats_it() {
    let mut s = opened(&text("method baumgarte;"));
    let json = r#"{"do":"parameters","value":{"integrator":"rk4","alpha":5,"beta":5}}"#;
    s.apply(serde_json::from_str(json).unwrap()).unwrap();
    let fine = drift(&mut s);
    assert!(fine < 0.01 * drift(&mut opened(&text("method baumgarte;"))), "{fine}");
    let log = s.log();
    let again = linkwork::session::replay(&log).expect("it replays");
    assert_eq!(again.hash(), s.hash());
    for bad in [r#"{"alpha":-1}"#, r#"{"beta":1e7}"#] {
        let value: Parameters = serde_json::from_str(bad).unwrap();
        assert!(s.apply(Command::Parameters { value }).is_err(), "{bad}");
    }
    assert!(serde_json::from_str::<Parameters>(r#"{"gamma":1}"#).is_err());
}

#[test]
fn a_parameter_of_another_method_is_told() {
    for (settings, word) in [
        ("alpha 5;", "alpha"),
        ("method post-stabilization; beta 5;", "beta"),
        ("method displacement; integrator rk4;", "integrator"),
        ("method baumgarte; project-velocities;", "project-velocities"),
    ] {
        let text = text(settings);
        let (scene, report) = load(&text, &mut |_| Err("no files".into()));
        let told = report.render("t.lw", &text, false);
        assert!(scene.is_some(), "only a lint: {told}");
        assert!(told.contains(&format!("`{word}` has no effect")), "{told}");
    }
    let odd = text("method baumgarte; integrator leapfrog;");
    assert!(load(&odd, &mut |_| Err("no files".into())).0.is_none());
}
