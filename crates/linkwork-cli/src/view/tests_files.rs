//! The scene's file and what lies beside it, while windows look at it.

use super::driver::Source;
use super::tests::{Client, act, answer, connect, event, frame, run, say};
use super::{Bounds, Server};
use linkwork::session::Session;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A folder of its own, gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("linkwork-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    /// Puts a text there at once, as editors do: the server may look at any moment, and half of a text is another one.
    fn put(&self, name: &str, text: &str) -> PathBuf {
        let (path, beside) = (self.0.join(name), self.0.join(format!("{}.new", name.replace('/', "-"))));
        std::fs::write(&beside, text).expect("written");
        std::fs::rename(&beside, &path).expect("renamed");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server on a file that has errors.
fn serve_broken(path: &Path) -> Server {
    let session = Session::open("", &mut |_| Err("none".into())).unwrap_or_else(|_| panic!("an empty scene"));
    let started = Server::start(session, Source::File(path.to_owned()), None, 0, false, Bounds::default());
    started.unwrap_or_else(|_| panic!("no server"))
}

/// A server on a file.
fn serve(path: &Path) -> Server {
    let text = std::fs::read_to_string(path).expect("text");
    let folder = path.parent().expect("a folder");
    let session = Session::open(&text, &mut |name| super::meshes::read_mesh(folder, name)).expect("a scene");
    Server::start(session, Source::File(path.to_owned()), None, 0, false, Bounds::default())
        .unwrap_or_else(|_| panic!("it starts"))
}

fn ball(mass: u32) -> String {
    format!("/* kept */ solid a: mass {mass}; end joint ball; object2 a; end")
}

/// The next news of the file that is good or bad.
async fn file(client: &mut Client, ok: bool) -> Value {
    loop {
        let told = event(client, "file").await;
        if told["ok"] == ok {
            return told;
        }
    }
}

/// Asks to save and waits for the answer.
async fn save(client: &mut Client, id: u64, how: Value) -> Value {
    say(client, json!({ "v": 1, "id": id, "ask": { "save": how } })).await;
    answer(client, id).await
}

#[test]
fn a_changed_file_is_read_again_and_a_broken_one_is_not() {
    let folder = Folder::new("reload");
    let path = folder.put("scene.lw", &ball(1));
    let server = serve(&path);
    run(async {
        let mut page = connect(&server).await;
        let first = event(&mut page, "scene").await;
        assert_eq!(first["solids"][1]["mass"], 1.0);
        assert_eq!(event(&mut page, "file").await["ok"], true);
        folder.put("scene.lw", "solid a: mass banana; end");
        let broken = file(&mut page, false).await;
        assert!(broken["diagnostics"][0]["line"].is_u64(), "{broken}");
        // Somebody who comes now is told too, and sees the old scene.
        let mut late = connect(&server).await;
        assert_eq!(event(&mut late, "scene").await["solids"][1]["mass"], 1.0);
        assert_eq!(event(&mut late, "file").await["ok"], false);
        folder.put("scene.lw", &ball(5));
        while event(&mut page, "scene").await["solids"][1]["mass"] != 5.0 {}
        file(&mut page, true).await;
        // What is edited in the page goes back into the file, comments and all.
        let edit = json!({ "do": "set-text", "text": ball(6) });
        assert_eq!(act(&mut page, 1, edit).await["event"], "done");
        assert_eq!(save(&mut page, 2, json!({})).await["event"], "done");
        assert_eq!(std::fs::read_to_string(&path).expect("text"), ball(6));
    });
}

/// `view typo.lw` ended with the complaints; now they are shown beside the text, and the file runs once it is mended.
#[test]
fn a_file_that_is_broken_from_the_start_is_handed_out_to_be_mended() {
    let folder = Folder::new("mend");
    let broken = "solid a: mas 1; shape sphere 0.1; end";
    let path = folder.put("typo.lw", broken);
    let server = serve_broken(&path);
    run(async {
        let mut page = connect(&server).await;
        let told = file(&mut page, false).await;
        assert_eq!(told["text"], broken, "{told}");
        assert!(told["diagnostics"][0]["message"].as_str().is_some_and(|m| m.contains("mas")), "{told}");
        // Mended in the page: it goes back into the file without a question, since this is what was shown.
        let edit = json!({ "do": "set-text", "text": ball(3) });
        assert_eq!(act(&mut page, 1, edit).await["event"], "done");
        assert_eq!(save(&mut page, 2, json!({})).await["event"], "done");
        // Who comes now is told that all is well.
        let mut late = connect(&server).await;
        file(&mut late, true).await;
        assert_eq!(std::fs::read_to_string(&path).expect("text"), ball(3));
        // From now on the last good version goes on.
        folder.put("typo.lw", broken);
        let told = file(&mut late, false).await;
        assert!(
            told["text"].is_null() && told["message"].as_str().is_some_and(|m| m.contains("last good")),
            "{told}"
        );
    });
    // Mended in the editor.
    folder.put("typo.lw", broken);
    let server = serve_broken(&path);
    run(async {
        let mut page = connect(&server).await;
        file(&mut page, false).await;
        folder.put("typo.lw", &ball(7));
        while event(&mut page, "scene").await["solids"][1]["mass"] != 7.0 {}
    });
}

/// Somebody writes slowly: what is there in between is another text, and nobody's scene.
#[test]
fn a_text_that_is_still_being_written_is_waited_for() {
    let folder = Folder::new("slowly");
    let path = folder.put("scene.lw", &ball(1));
    let mut watch = super::watch::Watch::new(path.clone(), ball(1));
    let news = |w: &mut super::watch::Watch| w.look();
    assert!(news(&mut watch).is_none() && news(&mut watch).is_some());
    for part in ["", "/* ke", "/* kept */ solid a: "] {
        std::fs::write(&path, part).expect("written");
        assert!(news(&mut watch).is_none(), "`{part}` was taken");
    }
    std::fs::write(&path, ball(2)).expect("written");
    assert!(news(&mut watch).is_none());
    let Some(super::watch::News::Text(text)) = news(&mut watch) else { panic!("no news") };
    assert_eq!(text, ball(2));
    assert!(news(&mut watch).is_none());
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_the_file_stalls_nobody() {
    let folder = Folder::new("pipe");
    let path = folder.put("scene.lw", &ball(1));
    let server = serve(&path);
    run(async {
        let mut page = connect(&server).await;
        std::fs::remove_file(&path).expect("removed");
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo");
        assert!(made.success());
        while !file(&mut page, false).await["message"].as_str().expect("words").contains("not a regular file")
        {
        }
        // It still listens, and writes into no pipe.
        frame(&mut page).await;
        assert_eq!(act(&mut page, 1, json!({ "do": "run", "on": true })).await["event"], "done");
        assert_eq!(save(&mut page, 2, json!({})).await["event"], "error");
        std::fs::remove_file(&path).expect("removed");
        folder.put("scene.lw", &ball(3));
        while event(&mut page, "scene").await["solids"][1]["mass"] != 3.0 {}
        file(&mut page, true).await;
    });
}

#[test]
fn saving_overwrites_nothing_that_was_not_read() {
    let folder = Folder::new("save");
    let path = folder.put("scene.lw", &ball(1));
    let server = serve(&path);
    let disk = || std::fs::read_to_string(&path).expect("text");
    run(async {
        let mut page = connect(&server).await;
        let edit = json!({ "do": "set-text", "text": ball(2) });
        assert_eq!(act(&mut page, 1, edit).await["event"], "done");
        // Broken, and known to be: still somebody's work.
        folder.put("scene.lw", "solid a: mass banana; end");
        file(&mut page, false).await;
        let refused = save(&mut page, 2, json!({})).await;
        assert_eq!((&refused["event"], &refused["reason"]), (&json!("error"), &json!("file-changed")));
        assert!(refused["message"].as_str().expect("words").contains("changed on disk"), "{refused}");
        assert!(disk().contains("banana"));
        // Whoever wants to, can; then the file is fine, for those who come later too.
        assert_eq!(save(&mut page, 3, json!({ "force": true })).await["event"], "done");
        assert_eq!(disk(), ball(2));
        let mut late = connect(&server).await;
        assert_eq!(event(&mut late, "file").await["ok"], true);
        // Changed and not read yet: too fast for any look.
        folder.put("scene.lw", "not even a scene");
        assert_eq!(save(&mut page, 4, json!({})).await["reason"], "file-changed");
        assert_eq!(disk(), "not even a scene");
        // What is there is what would be written: nothing is lost.
        folder.put("scene.lw", &ball(2));
        assert_eq!(save(&mut page, 5, json!({})).await["event"], "done");
        // Its folder is all that a file needs.
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(save(&mut page, 6, json!({})).await["event"], "done");
        assert_eq!(disk(), ball(2));
    });
}

/// A tetrahedron with edges of this length along the axes.
fn tetrahedron(edge: u32) -> String {
    format!("v 0 0 0\nv {edge} 0 0\nv 0 {edge} 0\nv 0 0 {edge}\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
}

/// How long the first solid's mesh is along x.
fn size(scene: &Value) -> f64 {
    let numbers = scene["solids"][1]["shapes"][0]["positions"].as_array().expect("a mesh").iter();
    numbers.map(|x| x.as_f64().expect("a number")).fold(0.0, f64::max)
}

#[test]
fn a_changed_mesh_is_read_again_and_the_log_still_repeats() {
    let folder = Folder::new("mesh");
    folder.put("part.obj", &tetrahedron(1));
    let text = "solid a: shape mesh \"part.obj\"; mass 1; end joint ball; object2 a; end";
    let path = folder.put("scene.lw", text);
    let server = serve(&path);
    run(async {
        let mut page = connect(&server).await;
        assert_eq!(size(&event(&mut page, "scene").await), 1.0);
        // By itself, though the text is the same.
        folder.put("part.obj", &tetrahedron(3));
        while size(&event(&mut page, "scene").await) != 3.0 {}
        // Broken: told; mended as it was: told.
        file(&mut page, true).await;
        folder.put("part.obj", "v 0 0");
        assert!(file(&mut page, false).await["message"].as_str().expect("words").contains("mesh file"));
        folder.put("part.obj", &tetrahedron(3));
        file(&mut page, true).await;
        // Together with the text: both are new, and the solid is there once.
        folder.put("part.obj", &tetrahedron(5));
        folder.put("scene.lw", &text.replace("mass 1", "mass 2"));
        while event(&mut page, "scene").await["solids"][1]["mass"] != 2.0 {}
        assert_eq!(act(&mut page, 1, json!({ "do": "step", "count": 5 })).await["event"], "done");
        let edit = json!({ "do": "delete-constraint", "joint": 0 });
        say(&mut page, json!({ "v": 1, "id": 2, "command": edit })).await;
        assert_eq!(size(&event(&mut page, "scene").await), 5.0);
        assert_eq!(answer(&mut page, 2).await["event"], "done");
        let got = super::tests::get(&server, &format!("/export/log.json?token={}", server.token)).await;
        let log = &got[got.find("\r\n\r\n").expect("a head") + 4..];
        let log: linkwork::session::Log = serde_json::from_str(log).expect("a log");
        let again = linkwork::session::replay(&log).unwrap_or_else(|e| panic!("{e:?}"));
        let shape = &again.mechanism().solids()[1].shapes[0].shape;
        let linkwork::Shape::Mesh(mesh) = shape else { panic!("{shape:?}") };
        assert!(mesh.vertices.iter().any(|v| v.x == 5.0));
    });
}

#[cfg(unix)]
#[test]
fn mesh_files_outside_of_the_folder_are_out_of_reach() {
    use crate::view::meshes::read_mesh;
    use std::os::unix::fs::symlink;
    let (folder, other) = (Folder::new("inside"), Folder::new("outside"));
    let secret = other.put("secret.obj", "secret");
    folder.put("part.obj", "part");
    std::fs::create_dir(folder.0.join("parts")).expect("a folder");
    folder.put("parts/bolt.obj", "bolt");
    symlink(&secret, folder.0.join("link.obj")).expect("a link");
    symlink(&other.0, folder.0.join("beyond")).expect("a link");
    symlink(folder.0.join("part.obj"), folder.0.join("parts/same.obj")).expect("a link");
    symlink(&folder.0, other.0.join("entrance")).expect("a link");
    let read = |name: &str| read_mesh(&folder.0, name);
    assert_eq!(read("part.obj").as_deref(), Ok(&b"part"[..]));
    assert_eq!(read("parts/bolt.obj").as_deref(), Ok(&b"bolt"[..]));
    assert_eq!(read("parts/same.obj").as_deref(), Ok(&b"part"[..]));
    assert_eq!(read("./part.obj").as_deref(), Ok(&b"part"[..]));
    assert_eq!(read("./parts/./bolt.obj").as_deref(), Ok(&b"bolt"[..]));
    assert!(read("./../outside/secret.obj").is_err());
    // The scene's own folder may be reached by a link.
    assert_eq!(read_mesh(&other.0.join("entrance"), "part.obj").as_deref(), Ok(&b"part"[..]));
    assert!(read("link.obj").expect_err("refused").contains("leads out"));
    assert!(read("beyond/secret.obj").expect_err("refused").contains("leads out"));
    assert!(read("../outside/secret.obj").is_err() && read("/etc/passwd").is_err());
    assert!(read("missing.obj").is_err());
}

#[test]
fn saving_clears_the_banner_of_those_who_look() {
    let folder = Folder::new("banner");
    let path = folder.put("scene.lw", &ball(1));
    let server = serve(&path);
    run(async {
        let mut page = connect(&server).await;
        folder.put("scene.lw", "solid a: mass banana; end");
        file(&mut page, false).await;
        say(&mut page, json!({ "v": 1, "id": 1, "ask": { "save": { "force": true } } })).await;
        file(&mut page, true).await;
        assert_eq!(std::fs::read_to_string(&path).expect("text"), ball(1));
    });
}

#[test]
fn a_file_that_goes_away_is_told_once_and_so_is_its_return() {
    let folder = Folder::new("gone");
    let path = folder.put("scene.lw", &ball(1));
    let server = serve(&path);
    run(async {
        let mut page = connect(&server).await;
        file(&mut page, true).await;
        std::fs::remove_file(&path).expect("removed");
        let gone = file(&mut page, false).await;
        assert!(gone["message"].as_str().expect("words").contains("is gone"), "{gone}");
        // Long enough for many looks.
        for _ in 0..8 {
            frame(&mut page).await;
        }
        folder.put("scene.lw", &ball(1));
        let back = event(&mut page, "file").await;
        assert_eq!(back["ok"], true);
        assert!(back["message"].as_str().expect("words").contains("is back"), "{back}");
    });
}

#[test]
fn a_change_that_keeps_the_time_is_seen_and_a_touch_keeps_edits() {
    let folder = Folder::new("time");
    let path = folder.put("scene.lw", &ball(1));
    let server = serve(&path);
    run(async {
        let mut page = connect(&server).await;
        let mut other = connect(&server).await;
        assert_eq!(event(&mut other, "scene").await["solids"][1]["mass"], 1.0);
        let edit = json!({ "do": "set-text", "text": ball(2) });
        assert_eq!(act(&mut page, 1, edit).await["event"], "done");
        assert_eq!(event(&mut other, "scene").await["solids"][1]["mass"], 2.0);
        let time = std::fs::metadata(&path).and_then(|m| m.modified()).expect("a time");
        let later = time + std::time::Duration::from_secs(5);
        let touch = |path: &Path| {
            let file = std::fs::File::options().append(true).open(path).expect("a file");
            file.set_modified(later).expect("set");
        };
        // Another time is no other text: what was edited stays.
        touch(&path);
        for _ in 0..8 {
            frame(&mut page).await;
        }
        let beside = folder.put("beside", &format!("{} /* longer */", ball(3)));
        touch(&beside);
        std::fs::rename(&beside, &path).expect("renamed");
        // Straight from 2: it has not been 1 again.
        assert_eq!(event(&mut other, "scene").await["solids"][1]["mass"], 3.0);
    });
}
