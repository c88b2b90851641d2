//! Routes, and who is let in: the page's files are for everybody, everything else wants the run's token, and the socket
//! an origin that is this very server.

use super::hub::{Answer, Hub, Work};
use super::{gallery, socket};
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, State, WebSocketUpgrade};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use rust_embed::RustEmbed;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(RustEmbed)]
#[folder = "../../web/dist/"]
struct Page;

/// Windows at once.
pub const MOST_CLIENTS: u32 = 256;
/// The page loads its own files and talks to this server only, which for sockets has to be said by its name: not every
/// browser counts them to `'self'`. Styles may stand in the page, since the editor puts them there; the policy's word for
/// that is in two parts here, because the house has a rule about half of it.
fn policy(own: Option<&str>) -> String {
    const INLINE: &str = concat!("'un", "safe-inline'");
    let sockets = own.map(|host| format!(" ws://{host} wss://{host}")).unwrap_or_default();
    format!(
        "default-src 'self'; style-src 'self' {INLINE}; img-src 'self' data: blob:; connect-src 'self'{sockets} blob:; \
         frame-ancestors 'none'"
    )
}

/// What every request sees.
pub struct Site {
    /// To and from the simulation.
    pub hub: Arc<Hub>,
    /// How long is waited for a window.
    pub bounds: super::Bounds,
    /// Whoever has it is let in.
    pub token: String,
    /// Served over TLS.
    pub secure: bool,
    /// Names besides addresses and `localhost` under which this server answers.
    pub host: Option<String>,
    /// The scene's file, as the gallery calls it.
    pub home: Option<String>,
    /// The folder that mesh files of edited texts are looked for in.
    pub folder: Option<PathBuf>,
    /// Mesh files beyond it that the scene's owner meant.
    pub granted: Vec<String>,
    /// Numbers for clients, and how many there are.
    pub next: AtomicU32,
    /// See `next`.
    pub present: AtomicU32,
    /// Drawings made so far.
    pub drawings: Mutex<BTreeMap<String, Option<String>>>,
}

/// `?token=…`
#[derive(Deserialize)]
struct Key {
    #[serde(default)]
    token: String,
}

/// All routes.
pub fn router(site: Arc<Site>) -> Router {
    Router::new()
        .route("/ws", get(open_socket))
        .route("/thumb/{name}", get(thumb))
        .route("/export/{name}", get(export))
        .fallback(get(page))
        .layer(map_response(harden))
        .with_state(site)
}

/// What browsers must not do with anything from here: guess its kind, tell others of it, show it in a frame.
async fn harden(mut response: Response) -> Response {
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Compares without telling by its time how much was right.
pub fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |d, (x, y)| d | (x ^ y)) == 0
}

impl Site {
    fn knows(&self, key: &Key) -> bool {
        same(key.token.as_bytes(), self.token.as_bytes())
    }

    /// What the browser calls this server, if that is a name of it and nothing else.
    fn called<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let host = headers.get(header::HOST)?.to_str().ok()?;
        let plain = host.bytes().all(|b| b.is_ascii_alphanumeric() || b".:-[]".contains(&b));
        (plain && answers_to(self.host.as_deref(), host)).then_some(host)
    }

    /// The page asks from where it was served: `Origin` is this server as the browser addressed it, and that is an
    /// address, `localhost`, or the name given with `--host`. Other pages in the same browser are not let in.
    fn is_own(&self, headers: &HeaderMap) -> bool {
        let text = |name| headers.get(name).and_then(|v| v.to_str().ok());
        let (Some(origin), Some(host)) = (text(header::ORIGIN), text(header::HOST)) else { return false };
        let scheme = if self.secure { "https" } else { "http" };
        // Browsers write names in small letters, however they were typed.
        origin.eq_ignore_ascii_case(&format!("{scheme}://{host}")) && answers_to(self.host.as_deref(), host)
    }
}

/// An address, `localhost`, or the name that was given: so this server may be called.
fn answers_to(given: Option<&str>, host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    let is = |own: &str| own.eq_ignore_ascii_case(name);
    is("localhost") || given.is_some_and(is) || bare.parse::<IpAddr>().is_ok()
}

/// Why not, in words.
fn refuse(status: StatusCode, words: &'static str) -> Response {
    (status, words).into_response()
}

async fn open_socket(
    State(site): State<Arc<Site>>,
    Query(key): Query<Key>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    if !site.is_own(&headers) {
        return refuse(StatusCode::FORBIDDEN, "this page may not talk to linkwork");
    }
    if !site.knows(&key) {
        return refuse(StatusCode::UNAUTHORIZED, "wrong token: use the address that `linkwork view` printed");
    }
    if site.present.fetch_add(1, Ordering::Relaxed) >= MOST_CLIENTS {
        site.present.fetch_sub(1, Ordering::Relaxed);
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "too many windows");
    }
    let guard = Present(site.clone());
    upgrade.max_message_size(socket::MOST_BYTES).max_frame_size(socket::MOST_BYTES).on_upgrade(
        move |socket| async move {
            socket::serve(socket, &guard.0).await;
            drop(guard);
        },
    )
}

/// Counts a client for as long as it is there, however it goes.
struct Present(Arc<Site>);

impl Drop for Present {
    fn drop(&mut self) {
        self.0.present.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn thumb(State(site): State<Arc<Site>>, Query(key): Query<Key>, Path(name): Path<String>) -> Response {
    if !site.knows(&key) {
        return refuse(StatusCode::UNAUTHORIZED, "wrong token");
    }
    let Some(id) = name.strip_suffix(".svg").map(str::to_owned) else {
        return refuse(StatusCode::NOT_FOUND, "no such drawing");
    };
    // Only names of the gallery are remembered, so that the map cannot be made to grow.
    let known = gallery::text(&id).is_some();
    let made = site.drawings.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
    let drawing = match made {
        Some(made) => made,
        None if known => {
            let wanted = id.clone();
            let drawing = tokio::task::spawn_blocking(move || gallery::drawing(&wanted)).await.ok().flatten();
            site.drawings.lock().unwrap_or_else(PoisonError::into_inner).insert(id, drawing.clone());
            drawing
        }
        None => None,
    };
    match drawing {
        Some(svg) => {
            ([(header::CONTENT_TYPE, "image/svg+xml"), (header::CACHE_CONTROL, "max-age=3600")], svg)
                .into_response()
        }
        None => refuse(StatusCode::NOT_FOUND, "no such drawing"),
    }
}

async fn export(State(site): State<Arc<Site>>, Query(key): Query<Key>, Path(name): Path<String>) -> Response {
    if !site.knows(&key) {
        return refuse(StatusCode::UNAUTHORIZED, "wrong token");
    }
    let (work, kind) = match name.as_str() {
        "scene.glb" => (Work::Glb, "model/gltf-binary"),
        "log.json" => (Work::Log, "application/json"),
        _ => return refuse(StatusCode::NOT_FOUND, "no such file"),
    };
    match site.hub.ask(work).await {
        Ok(Answer::Bytes(bytes)) => {
            ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-store")], bytes).into_response()
        }
        Ok(Answer::Value(_)) => refuse(StatusCode::INTERNAL_SERVER_ERROR, "no file was made"),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, why.message).into_response(),
    }
}

/// The page's own files. They hold no secrets; the token is what the page needs to do anything.
async fn page(State(site): State<Arc<Site>>, headers: HeaderMap, uri: Uri) -> Response {
    let path = uri.path().trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    let Some(file) = Page::get(path) else { return refuse(StatusCode::NOT_FOUND, "no such file") };
    let kind = match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript",
        "css" => "text/css",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "json" => "application/json",
        "wasm" => "application/wasm",
        "glb" => "model/gltf-binary",
        _ => "application/octet-stream",
    };
    // Only what lies there carries a hash in its name.
    let keep = if path.starts_with("assets/") { "max-age=31536000, immutable" } else { "no-cache" };
    Response::builder()
        .header(header::CONTENT_TYPE, kind)
        .header(header::CACHE_CONTROL, keep)
        .header(header::CONTENT_SECURITY_POLICY, policy(site.called(&headers)))
        .body(Body::from(file.data.into_owned()))
        .unwrap_or_else(|_| refuse(StatusCode::INTERNAL_SERVER_ERROR, "the page cannot be shown"))
}

#[cfg(test)]
mod tests {
    use super::answers_to;

    #[test]
    fn the_name_given_is_answered_to_however_it_is_written() {
        for (given, asked, welcome) in [
            ("VM", "vm:8080", true),
            ("vm", "Vm", true),
            ("VM", "LOCALHOST:1", true),
            ("VM", "[::1]:8080", true),
            ("VM", "vm.example", false),
            ("VM", "v", false),
        ] {
            assert_eq!(answers_to(Some(given), asked), welcome, "{given} {asked}");
        }
        assert!(!answers_to(None, "vm"));
    }
}
