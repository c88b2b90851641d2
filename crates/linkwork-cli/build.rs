//! The viewer's page is built by `npm run build` in `web/`. Without it the command must still compile: then the page says
//! how to get it.

use std::fs;
use std::path::Path;

fn main() {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/dist");
    let index = dist.join("index.html");
    if !index.exists() {
        let page = "<!doctype html><meta charset=utf-8><title>Linkwork</title>\
            <p>The viewer's page has not been built. <code>make run</code> builds it; or, by hand: \
            <code>cd web &amp;&amp; npm ci &amp;&amp; npm run build</code>, then build linkwork again.\n";
        // If this cannot be written, embedding the folder fails with a message of its own.
        let _ = fs::create_dir_all(&dist).and_then(|()| fs::write(&index, page));
    }
    println!("cargo:rerun-if-changed={}", dist.display());
    println!(
        "cargo:rerun-if-changed={}",
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes").display()
    );
}
