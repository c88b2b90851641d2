//! `linkwork view`: the interactive viewer. A small server on this machine, and a page in the browser.
//!
//! [`driver`] runs the session on a thread of its own, [`hub`] stands between it and the windows, [`socket`] serves one
//! window and [`flight`] knows how far behind it is, [`door`] and [`http`] decide who is let in, [`watch`] keeps an eye on the file. The page is `web/`, built and embedded.

mod describe;
mod door;
mod driver;
mod flight;
mod foresee;
mod frame;
mod gallery;
mod http;
mod hub;
mod inbox;
mod meshes;
mod socket;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_door;
#[cfg(test)]
mod tests_files;
mod tls;
mod watch;

use crate::failure::{self, Failure};
use crate::{scene, terminal};
use axum_server::accept::NoDelayAcceptor;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use door::Door;
use driver::{Driver, Source};
use hub::Hub;
use linkwork::session::Session;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Opens the interactive viewer in the browser
///
/// Grab a part and drag it: the mechanism follows, closed loops included. The page also has the scene's text, plots,
/// all settings, and a gallery of built-in scenes. It can only be reached from this machine, and only with the address
/// that is printed here.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  linkwork view                    a scene to play with; more are one click away
  linkwork view machine.lw         your own scene, reloaded whenever you save it
  linkwork view machine.lw --xr    for a VR headset on the same network")]
pub struct Args {
    /// Scene file, or `-` for standard input; a built-in scene if none is given
    #[arg(value_name = "SCENE")]
    scene: Option<PathBuf>,
    /// Port to listen on; 0 picks any free port
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Address or host name to listen on, instead of this machine only
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Serve HTTPS on all interfaces with a self-signed certificate, which VR headsets require
    #[arg(long)]
    xr: bool,
    /// Do not open a browser; only print the address
    #[arg(long)]
    no_open: bool,
}

/// What is opened when nothing is named.
const DEFAULT: &str = "jansen";

pub fn run(args: &Args) -> Result<u8, Failure> {
    let mut granted = Vec::new();
    let (text, source) = match &args.scene {
        Some(path) => {
            // What came through a pipe cannot be read again.
            let file = path != Path::new("-") && path.is_file();
            match scene::load(path) {
                Ok(loaded) => {
                    granted.clone_from(&loaded.meshes);
                    (loaded.text, if file { Source::File(path.clone()) } else { Source::Named(loaded.name) })
                }
                // The first look at the file finds its mistakes, and the page shows them beside its text.
                Err(Failure::Scene { .. }) if file => {
                    terminal::note(
                        "the viewer opens it so that you can fix it; it runs once it has no errors",
                    );
                    (String::new(), Source::File(path.clone()))
                }
                Err(failure) => return Err(failure),
            }
        }
        None => {
            let text = gallery::text(DEFAULT).ok_or_else(|| Failure::failed("the gallery is empty"))?;
            (text, Source::Named(DEFAULT.into()))
        }
    };
    let folder = match &source {
        Source::File(path) => Some(crate::files::parent(path)),
        Source::Named(_) => None,
    };
    let mut mesh = |name: &str| match &folder {
        Some(folder) => meshes::read_granted(folder, name, &granted),
        None => Err("a scene from a pipe has no folder to look in".to_owned()),
    };
    let session = Session::open(&text, &mut mesh).map_err(|r| {
        // Read a second time it may differ, and whoever ends must say why.
        scene::show("scene", &text, &r);
        Failure::Scene { diagnostics: r.records("scene", &text), file: "scene".into() }
    })?;
    let server = Server::start(session, source, args.host.as_deref(), args.port, args.xr, Bounds::default())?;
    terminal::tell(server.greeting(args.xr));
    if let Some(words) = in_the_clear(server.local.ip(), args.xr) {
        terminal::note(words);
    }
    if !args.no_open && has_display() {
        open_browser(&server.address);
    }
    server.wait()
}

/// How long is waited for whom, and how many may come. Tests have less time.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// A window is asked this often whether it is still there,
    beat: Duration,
    /// and is gone when it says nothing for so long.
    silence: Duration,
    /// A request's head may take so long,
    head: Duration,
    /// and so many connections may be open.
    connections: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            beat: Duration::from_secs(2),
            silence: Duration::from_secs(10),
            head: Duration::from_secs(10),
            // All windows that may be open, and as many again for their files.
            connections: 2 * http::MOST_CLIENTS as usize,
        }
    }
}

/// A server that runs.
struct Server {
    runtime: tokio::runtime::Runtime,
    task: tokio::task::JoinHandle<std::io::Result<()>>,
    /// What to open.
    address: String,
    /// Where it listens.
    local: SocketAddr,
    #[cfg_attr(not(test), allow(dead_code))]
    token: String,
}

impl Server {
    /// Binds first, so that a taken port is told at once; then simulation and windows.
    fn start(
        session: Session,
        source: Source,
        host: Option<&str>,
        port: u16,
        xr: bool,
        bounds: Bounds,
    ) -> Result<Self, Failure> {
        let token = token()?;
        // What the scene named when it was opened here, its owner meant.
        let granted: Vec<String> = session.files().map(|(name, _)| name.to_owned()).collect();
        let listener = bind(host, port, xr)?;
        let local =
            listener.local_addr().map_err(|e| Failure::failed(format!("no address to listen on: {e}")))?;
        let (sender, inbox) = mpsc::sync_channel(hub::QUEUE);
        let hub = Arc::new(Hub::new(sender));
        let (folder, home) = match &source {
            Source::File(path) => {
                (Some(crate::files::parent(path)), path.file_name().map(|n| n.to_string_lossy().into_owned()))
            }
            Source::Named(_) => (None, None),
        };
        let driver = Driver::new(session, source, hub.clone());
        std::thread::Builder::new()
            .name("simulation".into())
            .spawn(move || driver.run(&inbox))
            .map_err(|e| Failure::failed(format!("cannot start the simulation: {e}")))?;
        let site = Arc::new(http::Site {
            hub,
            bounds,
            token: token.clone(),
            secure: xr,
            host: host.map(str::to_owned),
            home,
            folder,
            granted,
            next: AtomicU32::new(0),
            present: AtomicU32::new(0),
            drawings: Default::default(),
        });
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(4)
            .enable_all()
            .build()
            .map_err(|e| Failure::failed(format!("cannot start the server: {e}")))?;
        let reached = reached(host, local.ip(), xr);
        let scheme = if xr { "https" } else { "http" };
        let address = format!("{scheme}://{reached}:{}/?token={token}", local.port());
        let router = http::router(site);
        let key = token.clone();
        let task = if xr {
            let names = certificate_names(host, &reached);
            let certificate = tls::certificate(&names)
                .map_err(|e| Failure::failed(format!("cannot make a certificate: {e}")))?;
            // Only the first call can succeed, and any provider will do.
            let _ = rustls::crypto::ring::default_provider().install_default();
            runtime.spawn(async move {
                let pem = (certificate.cert.into_bytes(), certificate.key.into_bytes());
                let config = tls::only_http1(&RustlsConfig::from_pem(pem.0, pem.1).await?);
                let secured = RustlsAcceptor::new(config).acceptor(NoDelayAcceptor);
                let door = Door::new(secured, bounds.connections, bounds.head, &key);
                let mut server = axum_server::from_tcp(listener)?.acceptor(door);
                door::limit(server.http_builder(), bounds.head);
                server.serve(router.into_make_service()).await
            })
        } else {
            runtime.spawn(async move {
                // No delay: frames are small and must not wait for more of them.
                let door = Door::new(NoDelayAcceptor, bounds.connections, bounds.head, &key);
                let mut server = axum_server::from_tcp(listener)?.acceptor(door);
                door::limit(server.http_builder(), bounds.head);
                server.serve(router.into_make_service()).await
            })
        };
        Ok(Self { runtime, task, address, local, token })
    }

    fn greeting(&self, xr: bool) -> String {
        let mut words = format!("\n  Linkwork is at  {}\n\n", self.address);
        if xr {
            words.push_str(
                "  Open that address in the headset's browser, which must be on the same network. The certificate was\n  \
                 made just now and is self-signed: the browser warns once; choose to continue.\n\n",
            );
        }
        words.push_str("  Press Ctrl+C to stop.\n\n");
        words
    }

    fn wait(self) -> Result<u8, Failure> {
        match self.runtime.block_on(self.task) {
            Ok(Ok(())) => Ok(failure::OK),
            Ok(Err(e)) => Err(Failure::failed(format!("the server ended: {e}"))),
            Err(e) => Err(Failure::failed(format!("the server ended: {e}"))),
        }
    }
}

/// Loopback, unless the user says otherwise.
fn bind(host: Option<&str>, port: u16, xr: bool) -> Result<std::net::TcpListener, Failure> {
    let name = host.unwrap_or(if xr { "0.0.0.0" } else { "127.0.0.1" });
    let listener = std::net::TcpListener::bind((name, port)).map_err(|e| {
        Failure::failed(format!("cannot listen on {name}:{port}: {e} (--port 0 picks a free port)"))
    })?;
    listener
        .set_nonblocking(true)
        .map_err(|e| Failure::failed(format!("cannot listen on {name}:{port}: {e}")))?;
    Ok(listener)
}

/// What others on the way can read along.
fn in_the_clear(bound: IpAddr, xr: bool) -> Option<&'static str> {
    (!xr && !bound.is_loopback()).then_some(
        "the address above, token included, is sent over the network unencrypted, and anyone who has it can use the viewer; \
         --xr serves HTTPS",
    )
}

/// What to put into the address: a wildcard is no address.
fn reached(host: Option<&str>, bound: IpAddr, xr: bool) -> String {
    let wrap = |ip: IpAddr| if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() };
    match host {
        Some(name) if name.parse::<IpAddr>().is_err() => name.to_owned(),
        _ if bound.is_unspecified() && (xr || host.is_some()) => {
            wrap(tls::own_address().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)))
        }
        _ => wrap(bound),
    }
}

fn certificate_names(host: Option<&str>, reached: &str) -> Vec<String> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    names.extend(host.filter(|h| *h != "0.0.0.0" && *h != "::").map(str::to_owned));
    names.push(reached.trim_matches(['[', ']']).to_owned());
    names.sort();
    names.dedup();
    names
}

/// 128 bits that nobody can guess.
fn token() -> Result<String, Failure> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|e| Failure::failed(format!("no random numbers: {e}")))?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

fn has_display() -> bool {
    cfg!(any(target_os = "macos", target_os = "windows"))
        || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|v| std::env::var_os(v).is_some_and(|v| !v.is_empty()))
}

/// Asks the desktop to open an address. If it cannot, the printed one is still there.
fn open_browser(address: &str) {
    let (program, args): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(target_os = "windows") {
        ("cmd", &["/C", "start", ""])
    } else {
        ("xdg-open", &[])
    };
    let quiet = std::process::Stdio::null;
    let started = std::process::Command::new(program)
        .args(args)
        .arg(address)
        .stdin(quiet())
        .stdout(quiet())
        .stderr(quiet())
        .spawn();
    if started.is_err() {
        terminal::note("no browser could be opened; open the address by hand");
    }
}
