//! The server against friends and foes, over real sockets.

use super::driver::Source;
use super::{Bounds, Server};
use futures_util::{SinkExt, StreamExt};
use linkwork::session::Session;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// A test waits for what is told, not for the clock. This is how long until a hang counts as one.
pub(super) const PATIENCE: Duration = Duration::from_secs(600);

pub(super) type Client = WebSocketStream<MaybeTlsStream<TcpStream>>;

pub(super) fn server(text: &str) -> Server {
    let session = Session::open(text, &mut |_| Err("none".into())).expect("a scene");
    Server::start(session, Source::Named("test".into()), None, 0, false, Bounds::default())
        .unwrap_or_else(|_| panic!("it starts"))
}

pub(super) fn gallery(id: &str) -> Server {
    server(&super::gallery::text(id).expect("a scene"))
}

/// Connects with a token and an origin of one's choice.
pub(super) async fn try_connect(server: &Server, token: &str, origin: Option<&str>) -> Result<Client, Error> {
    let mut request = format!("ws://{}/ws?token={token}", server.local).into_client_request()?;
    if let Some(origin) = origin {
        request.headers_mut().insert("Origin", origin.parse().expect("a header"));
    }
    Ok(connect_async(request).await?.0)
}

pub(super) async fn connect(server: &Server) -> Client {
    let origin = format!("http://{}", server.local);
    try_connect(server, &server.token, Some(&origin)).await.expect("let in")
}

/// The next event of a kind; frames and others are passed over.
pub(super) async fn event(client: &mut Client, kind: &str) -> Value {
    let wait = async {
        loop {
            match client.next().await.expect("connected").expect("a message") {
                Message::Text(text) => {
                    let value: Value = serde_json::from_str(&text).expect("JSON");
                    assert_eq!(value["v"], 1);
                    if value["event"] == kind {
                        return value;
                    }
                }
                _ => continue,
            }
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("no {kind}"))
}

pub(super) async fn frame(client: &mut Client) -> Vec<u8> {
    let wait = async {
        loop {
            if let Message::Binary(bytes) = client.next().await.expect("connected").expect("a message") {
                return bytes.to_vec();
            }
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("a frame")
}

pub(super) async fn say(client: &mut Client, value: Value) {
    client.send(Message::text(value.to_string())).await.expect("it listens");
}

/// Sends a command and waits for its answer.
pub(super) async fn act(client: &mut Client, id: u64, command: Value) -> Value {
    say(client, json!({ "v": 1, "id": id, "command": command })).await;
    answer(client, id).await
}

/// What is said to a request.
pub(super) async fn answer(client: &mut Client, id: u64) -> Value {
    let wait = async {
        loop {
            if let Message::Text(text) = client.next().await.expect("connected").expect("a message") {
                let value: Value = serde_json::from_str(&text).expect("JSON");
                if value["id"] == id {
                    return value;
                }
            }
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("an answer")
}

pub(super) fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(test);
}

#[test]
fn a_window_is_told_everything_and_moves_a_solid() {
    let server = gallery("fourbar");
    run(async {
        let mut page = connect(&server).await;
        let hello = event(&mut page, "hello").await;
        assert_eq!(hello["protocol"], 1);
        assert!(hello["gallery"].as_array().expect("a list").len() >= 15);
        assert!(hello["methods"].as_array().expect("a list").contains(&json!("variational")));
        let scene = event(&mut page, "scene").await;
        assert_eq!(scene["solids"].as_array().expect("a list").len(), 4);
        assert_eq!(event(&mut page, "settings").await["running"], true);
        let first = frame(&mut page).await;
        assert_eq!(&first[..4], b"LWF1");
        let grab = json!({ "do": "grab", "hand": 1, "solid": "crank", "point": [0.5, 0, 0] });
        assert_eq!(act(&mut page, 1, grab).await["event"], "done");
        assert_eq!(act(&mut page, 2, json!({ "do": "release", "hand": 1 })).await["event"], "done");
        let refused = act(&mut page, 3, json!({ "do": "release", "hand": 1 })).await;
        assert_eq!(refused["event"], "error");
        assert!(refused["message"].as_str().expect("words").contains("holds nothing"));
    });
}

#[test]
fn nobody_is_let_in_without_the_token_or_from_another_page() {
    let server = gallery("figure2");
    let own = format!("http://{}", server.local);
    let port = server.local.port();
    run(async {
        let none = "0".repeat(server.token.len());
        let longer = format!("{}0", server.token);
        let token = server.token.as_str();
        let strangers = [
            ("", Some(own.as_str()), 401),
            ("x", Some(&own), 401),
            (&none, Some(&own), 401),
            (&longer, Some(&own), 401),
            (&server.token[1..], Some(&own), 401),
            (token, None, 403),
            (token, Some("http://evil.example"), 403),
            (token, Some("null"), 403),
            (token, Some(&format!("https://127.0.0.1:{port}")), 403),
            (token, Some(&format!("http://127.0.0.1:{}", port ^ 1)), 403),
            (token, Some("http://127.0.0.1"), 403),
        ];
        for (token, origin, status) in strangers {
            match try_connect(&server, token, origin).await {
                Err(Error::Http(answer)) => assert_eq!(answer.status(), status, "{token} {origin:?}"),
                other => panic!("{token} {origin:?}: {:?}", other.map(|_| "let in")),
            }
        }
        // A name that an attacker's server gives to this machine is not ours, even if both headers agree.
        let mut request =
            format!("ws://{}/ws?token={token}", server.local).into_client_request().expect("one");
        request.headers_mut().insert("Host", format!("evil.example:{port}").parse().expect("a header"));
        request
            .headers_mut()
            .insert("Origin", format!("http://evil.example:{port}").parse().expect("a header"));
        assert!(matches!(connect_async(request).await, Err(Error::Http(a)) if a.status() == 403));
        assert!(try_connect(&server, token, Some(&own)).await.is_ok());
        assert_eq!(status(&server, "/").await, 200);
        for path in ["/export/log.json", "/export/scene.glb", "/thumb/fourbar.svg"] {
            assert_eq!(status(&server, path).await, 401, "{path}");
            assert_eq!(status(&server, &format!("{path}?token={none}")).await, 401, "{path}");
            assert_eq!(status(&server, &format!("{path}?token={token}")).await, 200, "{path}");
        }
        for path in [
            "/../Cargo.toml",
            "/%2e%2e/Cargo.toml",
            "/thumb/..%2f..%2fCargo.svg",
            "/export/x",
            "//etc/passwd",
        ] {
            let got = status(&server, &format!("{path}?token={token}")).await;
            assert!(got == 404 || got == 400, "{path}: {got}");
        }
    });
}

#[test]
fn names_of_hosts_have_no_case() {
    let text = super::gallery::text("figure2").expect("a scene");
    let session = Session::open(&text, &mut |_| Err("none".into())).expect("a scene");
    let source = Source::Named("test".into());
    let server = Server::start(session, source, Some("LocalHost"), 0, false, Bounds::default())
        .unwrap_or_else(|_| panic!("it starts"));
    let port = server.local.port();
    run(async {
        // As browsers say it, and as nobody must.
        for (host, origin, welcome) in [
            ("localhost", "http://localhost", true),
            ("LOCALHOST", "http://localhost", true),
            ("localhost", "HTTP://LocalHost", true),
            ("localhost", "http://localhost.example", false),
            ("localhost.example", "http://localhost.example", false),
        ] {
            let address = format!("ws://{}/ws?token={}", server.local, server.token);
            let mut request = address.into_client_request().expect("one");
            let headers = request.headers_mut();
            headers.insert("Host", format!("{host}:{port}").parse().expect("a header"));
            headers.insert("Origin", format!("{origin}:{port}").parse().expect("a header"));
            assert_eq!(connect_async(request).await.is_ok(), welcome, "{host} {origin}");
        }
    });
}

/// A plain request; the whole answer as text.
pub(super) async fn get(server: &Server, path: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = TcpStream::connect(server.local).await.expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.local);
    stream.write_all(request.as_bytes()).await.expect("it reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("it answers");
    String::from_utf8_lossy(&answer).into_owned()
}

async fn status(server: &Server, path: &str) -> u16 {
    let answer = get(server, path).await;
    answer.split_whitespace().nth(1).expect("a status").parse().expect("a number")
}

/// The same numbers every time.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

#[test]
fn hostile_messages_are_answered_and_change_nothing() {
    let server = server(
        "scene gravity 0 0 0; end solid a: mass 1; at 1 0 0; end joint ball; object2 a; frame2 1 0 0; end",
    );
    run(async {
        let mut page = connect(&server).await;
        act(&mut page, 1, json!({ "do": "run", "on": false })).await;
        let hash = |f: &[u8]| f[32..40].to_vec();
        let before = hash(&frame(&mut page).await);
        let good = [
            r#"{"v":1,"id":7,"command":{"do":"grab","hand":1,"solid":1,"point":[0,0,0],"mode":"pin"}}"#,
            r#"{"v":1,"id":8,"ask":{"check":{"text":"solid a: end"}}}"#,
            r#"{"v":1,"id":9,"ask":{"compare":{"entries":[]}}}"#,
        ];
        let mut hostile: Vec<String> = [
            "",
            "null",
            "[]",
            "{}",
            "\u{0}",
            r#"{"v":1}"#,
            r#"{"v":2,"command":{"do":"undo"}}"#,
            r#"{"v":-1,"command":{"do":"undo"}}"#,
            r#"{"v":1,"command":{"do":"destroy"}}"#,
            r#"{"v":1,"command":{"do":"drag","hand":99,"position":[0,0,0]}}"#,
            r#"{"v":1,"command":{"do":"grab","hand":1,"solid":4000000000,"point":[0,0,0]}}"#,
            r#"{"v":1,"command":{"do":"grab","hand":1,"solid":1,"point":[1e308,1e308,1e308]}}"#,
            r#"{"v":1,"command":{"do":"grab","hand":1,"solid":1,"point":[1e999,0,0]}}"#,
            r#"{"v":1,"command":{"do":"step","count":2147483647}}"#,
            r#"{"v":1,"command":{"do":"time-step","seconds":0}}"#,
            r#"{"v":1,"command":{"do":"time-step","seconds":-1}}"#,
            r#"{"v":1,"command":{"do":"tolerance","value":0}}"#,
            r#"{"v":1,"command":{"do":"gravity","value":[1e300,0,0]}}"#,
            r#"{"v":1,"command":{"do":"scrub","to":{"index":18446744073709551615}}}"#,
            r#"{"v":1,"command":{"do":"set-text","text":"solid"}}"#,
            r#"{"v":1,"command":{"do":"set-text","text":"solid a: shape mesh \"../../../etc/passwd\"; end"}}"#,
            r#"{"v":1,"command":{"do":"delete-constraint","joint":77}}"#,
            r#"{"v":1,"ask":{"open":{"scene":"../../etc/passwd"}}}"#,
            r#"{"v":1,"ask":{"save":{}}}"#,
            r#"{"v":1,"ask":{"compare":{"entries":[{"method":"no","solver":"no"}]}}}"#,
            r#"{"v":1,"ask":{"check":{"text":"x"}},"command":{"do":"undo"}}"#,
        ]
        .map(str::to_owned)
        .to_vec();
        hostile.push("[".repeat(100_000));
        hostile.push(format!(r#"{{"v":1,"command":{{"do":"method","name":"{}"}}}}"#, "x".repeat(1 << 20)));
        // Good messages cut short, and with a byte changed.
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        for _ in 0..600 {
            let text = good[dice.below(good.len())];
            let cut = dice.below(text.len());
            hostile.push(text[..cut].to_owned());
            let mut bytes = text.as_bytes().to_vec();
            // Never a message that is good by chance: the key of the command is spoilt.
            let at = text.find("\"v\"").expect("a version") + 1;
            bytes[at] = b'w';
            let place = dice.below(bytes.len());
            bytes[place] = 32 + (dice.next() % 95) as u8;
            hostile.push(String::from_utf8_lossy(&bytes).into_owned());
        }
        for text in &hostile {
            page.send(Message::text(text.clone())).await.expect("still connected");
            // Slow enough for the allowance: what is told apart here is the content.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        for _ in 0..200 {
            let bytes: Vec<u8> = (0..dice.below(300)).map(|_| dice.next() as u8).collect();
            page.send(Message::binary(bytes)).await.expect("still connected");
        }
        let answer = event(&mut page, "error").await;
        assert!(!answer["message"].as_str().expect("words").is_empty());
        // It still does what it is told, and nothing has happened meanwhile.
        let done = act(&mut page, 4242, json!({ "do": "run", "on": false })).await;
        assert_eq!(done["event"], "done");
        let now = loop {
            let f = frame(&mut page).await;
            if f[20..24] == [0; 4] {
                break f;
            }
        };
        assert_eq!(hash(&now), before);
    });
}

#[test]
fn bytes_that_are_no_websocket_end_that_connection_only() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let server = gallery("figure2");
    run(async {
        let mut page = connect(&server).await;
        let mut dice = Dice(7);
        for k in 0..60 {
            let mut stream = TcpStream::connect(server.local).await.expect("it listens");
            if k % 2 == 0 {
                // A handshake, then garbage.
                let head = format!(
                    "GET /ws?token={} HTTP/1.1\r\nHost: {1}\r\nOrigin: http://{1}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                     Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                    server.token, server.local
                );
                stream.write_all(head.as_bytes()).await.expect("it reads");
            }
            let bytes: Vec<u8> = (0..dice.below(2000)).map(|_| dice.next() as u8).collect();
            let _ = stream.write_all(&bytes).await;
            let mut some = [0; 64];
            let _ = tokio::time::timeout(Duration::from_millis(20), stream.read(&mut some)).await;
        }
        // A message that is larger than allowed closes its own window at most.
        let mut other = connect(&server).await;
        let _ = other.send(Message::text("x".repeat(9 << 20))).await;
        drop(other);
        assert_eq!(act(&mut page, 1, json!({ "do": "run", "on": false })).await["event"], "done");
    });
}

#[test]
fn a_flood_is_dropped_and_the_clock_goes_on() {
    let server = gallery("fourbar");
    run(async {
        let mut flood = connect(&server).await;
        let mut page = connect(&server).await;
        event(&mut page, "settings").await;
        for k in 0..20_000 {
            let drag = json!({ "v": 1, "command": { "do": "drag", "hand": k, "position": [0, 0, 0] } });
            if flood.send(Message::text(drag.to_string())).await.is_err() {
                break;
            }
        }
        let tick = |f: &[u8]| u32::from_le_bytes([f[4], f[5], f[6], f[7]]);
        let first = tick(&frame(&mut page).await);
        for _ in 0..20 {
            frame(&mut page).await;
        }
        assert!(tick(&frame(&mut page).await) > first + 10);
        let told = event(&mut flood, "error").await;
        assert!(told["message"].is_string());
        assert_eq!(act(&mut page, 1, json!({ "do": "run", "on": false })).await["event"], "done");
    });
}

#[test]
fn a_hundred_windows_come_and_go_and_those_who_leave_let_go() {
    let server = gallery("fourbar");
    run(async {
        let mut page = connect(&server).await;
        act(&mut page, 1, json!({ "do": "run", "on": false })).await;
        let mut windows = Vec::new();
        for k in 0..100u32 {
            let mut window = connect(&server).await;
            if k % 10 == 3 {
                let grab =
                    json!({ "do": "grab", "hand": 100 + k, "solid": "coupler", "point": [0.9, 0.1, 0] });
                assert_eq!(act(&mut window, 1, grab).await["event"], "done");
            }
            if k % 3 == 0 {
                windows.push(window);
            } else if k % 3 == 1 {
                let _ = window.close(None).await;
            }
            // The others are dropped without a word.
        }
        drop(windows);
        let held = |f: &[u8]| u32::from_le_bytes([f[20], f[21], f[22], f[23]]);
        // For as long as it takes: on a busy machine that is long, and a hundred windows more would hang here.
        while held(&frame(&mut page).await) > 0 {}
        assert_eq!(act(&mut page, 2, json!({ "do": "undo" })).await["id"], 2);
    });
}

#[test]
fn a_window_whose_grab_was_refused_lets_go_of_nothing_when_it_leaves() {
    let server = gallery("fourbar");
    run(async {
        let (mut one, mut two) = (connect(&server).await, connect(&server).await);
        let grab = json!({ "do": "grab", "hand": 1, "solid": "crank", "point": [0.5, 0, 0] });
        assert_eq!(act(&mut one, 1, grab.clone()).await["event"], "done");
        assert_eq!(act(&mut two, 1, grab.clone()).await["event"], "error");
        let own = json!({ "do": "grab", "hand": 2, "solid": "coupler", "point": [0, 0, 0] });
        assert_eq!(act(&mut two, 2, own).await["event"], "done");
        let held = |f: &[u8]| u32::from_le_bytes([f[20], f[21], f[22], f[23]]);
        while held(&frame(&mut one).await) != 2 {}
        drop(two);
        // Its own hand is empty: it has left.
        while held(&frame(&mut one).await) == 2 {}
        let drag = json!({ "do": "drag", "hand": 1, "position": [0, 0, 0] });
        assert_eq!(act(&mut one, 2, drag).await["event"], "done");
        // A hand that was let go of and taken by another window is that one's.
        let mut three = connect(&server).await;
        assert_eq!(act(&mut one, 3, json!({ "do": "release", "hand": 1 })).await["event"], "done");
        assert_eq!(act(&mut three, 1, grab).await["event"], "done");
        drop(one);
        for _ in 0..30 {
            frame(&mut three).await;
        }
        let drag = json!({ "do": "drag", "hand": 1, "position": [0, 0, 0] });
        assert_eq!(act(&mut three, 2, drag).await["event"], "done");
    });
}

#[test]
fn two_windows_see_one_session() {
    let server = gallery("fourbar");
    run(async {
        let (mut one, mut two) = (connect(&server).await, connect(&server).await);
        let [a, b] = [event(&mut one, "hello").await, event(&mut two, "hello").await];
        assert_ne!(a["client"], b["client"]);
        assert_eq!(event(&mut two, "settings").await["running"], true);
        act(&mut one, 1, json!({ "do": "run", "on": false })).await;
        loop {
            if event(&mut two, "settings").await["running"] == false {
                break;
            }
        }
        act(&mut two, 1, json!({ "do": "step", "count": 3 })).await;
        let find = |f: &[u8]| (f[32..40].to_vec(), f[4..8].to_vec());
        let mut seen: Vec<_> = Vec::new();
        for _ in 0..3 {
            seen.push(find(&frame(&mut one).await).0);
            seen.push(find(&frame(&mut two).await).0);
        }
        assert_eq!(seen[4], seen[5]);
        say(&mut one, json!({ "v": 1, "id": 9, "ask": { "open": { "scene": "reach" } } })).await;
        loop {
            if event(&mut two, "scene").await["name"] == "reach" {
                break;
            }
        }
    });
}

#[test]
fn a_window_that_does_not_read_stalls_nobody() {
    let server = gallery("characters");
    run(async {
        let mut page = connect(&server).await;
        act(&mut page, 1, json!({ "do": "run", "on": true })).await;
        let sleepers = [connect(&server).await, connect(&server).await, connect(&server).await];
        let tick = |f: &[u8]| u32::from_le_bytes([f[4], f[5], f[6], f[7]]);
        let start = (Instant::now(), tick(&frame(&mut page).await));
        // Far more than any buffer of the sleepers' holds: frames of it are tens of kilobytes.
        while tick(&frame(&mut page).await).wrapping_sub(start.1) < 240 {}
        let rate = 240.0 / start.0.elapsed().as_secs_f64();
        println!("{rate:.1} ticks a second beside three windows that do not read");
        drop(sleepers);
    });
}

/// Issue: 60 pose frames a second with a scene of 4,000 constraints, measured at the client's socket. The figure is
/// printed and not asserted: test machines are shared and this is not an optimised build. That frames come is.
#[test]
fn four_thousand_constraints_at_the_socket() {
    let text = linkwork::generate::generate("ladder", &[12, 52], 1.0).expect("a ladder");
    let server = server(&text);
    run(async {
        let mut page = connect(&server).await;
        let scene = event(&mut page, "scene").await;
        let joints = scene["joints"].as_array().expect("a list").len();
        act(&mut page, 1, json!({ "do": "run", "on": true })).await;
        frame(&mut page).await;
        let (start, mut bytes) = (Instant::now(), 0);
        for _ in 0..60 {
            bytes = frame(&mut page).await.len();
        }
        let rate = 60.0 / start.elapsed().as_secs_f64();
        let solids = scene["solids"].as_array().expect("a list").len() - 1;
        println!(
            "{solids} solids, {joints} joints, {} scalar constraints: {rate:.1} frames/s of {bytes} bytes",
            3 * joints
        );
        assert!(3 * joints >= 4000, "{joints}");
    });
}

#[test]
fn methods_run_side_by_side_on_one_clock() {
    let server = gallery("fourbar");
    run(async {
        let mut page = connect(&server).await;
        let entries = json!([{ "method": "displacement", "solver": "auto" }]);
        say(&mut page, json!({ "v": 1, "id": 1, "ask": { "compare": { "entries": entries } } })).await;
        let rows = loop {
            let table = event(&mut page, "compare").await;
            let rows = table["rows"].as_array().expect("rows").clone();
            if rows.len() == 2 && rows[1]["drift"].as_f64().is_some_and(|d| d > 0.0) {
                // Both worked; a tick without a step is no zero in the table.
                let worked = |r: &Value| r["ms"].as_f64().is_some_and(|ms| ms > 0.0);
                assert!(rows.iter().all(worked), "{rows:?}");
                break rows;
            }
        };
        assert_eq!(rows[0]["label"], "A");
        assert_eq!(rows[1]["method"], "displacement");
        let f = frame(&mut page).await;
        assert_eq!(f[28], 1, "one ghost");
        say(&mut page, json!({ "v": 1, "id": 2, "ask": { "compare": { "entries": [] } } })).await;
        loop {
            if event(&mut page, "compare").await["rows"].as_array().expect("rows").is_empty() {
                break;
            }
        }
    });
}
