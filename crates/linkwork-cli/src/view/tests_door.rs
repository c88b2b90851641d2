//! Who comes, who stays and who is shown out.

use super::driver::Source;
use super::tests::{PATIENCE, act, connect, frame, run, try_connect};
use super::{Bounds, Server};
use futures_util::StreamExt;
use linkwork::session::Session;
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;

/// How many hands hold something, as a frame says.
fn held(f: &[u8]) -> u32 {
    u32::from_le_bytes([f[20], f[21], f[22], f[23]])
}

/// A server with other bounds.
fn bounded(bounds: Bounds) -> Server {
    let text = super::gallery::text("fourbar").expect("a scene");
    let session = Session::open(&text, &mut |_| Err("none".into())).expect("a scene");
    Server::start(session, Source::Named("test".into()), None, 0, false, bounds)
        .unwrap_or_else(|_| panic!("it starts"))
}

/// The server ends a connection, sooner or later.
async fn is_closed(stream: &mut TcpStream) -> bool {
    use tokio::io::AsyncReadExt;
    let mut some = [0; 256];
    let end = async { while matches!(stream.read(&mut some).await, Ok(n) if n > 0) {} };
    tokio::time::timeout(PATIENCE, end).await.is_ok()
}

#[test]
fn connections_that_ask_for_nothing_are_closed() {
    use tokio::io::AsyncWriteExt;
    let server = bounded(Bounds { head: Duration::from_secs(1), ..Bounds::default() });
    run(async {
        let mut page = connect(&server).await;
        let mut idle = Vec::new();
        // Nothing at all, parts of a head, and another version's way to begin.
        for words in [
            "",
            "G",
            "GET / HT",
            "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
            "PRI * HTTP/2.0",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        ] {
            let mut stream = TcpStream::connect(server.local).await.expect("it listens");
            stream.write_all(words.as_bytes()).await.expect("it reads");
            idle.push((words, stream));
        }
        for (words, stream) in &mut idle {
            assert!(is_closed(stream).await, "still open after `{words}`");
        }
        // Those who are let in stay: longer than any head may take.
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(1500) {
            frame(&mut page).await;
        }
        assert_eq!(act(&mut page, 1, json!({ "do": "run", "on": false })).await["event"], "done");
    });
}

#[test]
fn so_many_connections_and_no_more() {
    let patient = Duration::from_secs(3600);
    let server = bounded(Bounds { head: patient, connections: 4, ..Bounds::default() });
    run(async {
        let mut page = connect(&server).await;
        let mut others = Vec::new();
        for _ in 0..20 {
            others.push(TcpStream::connect(server.local).await.expect("it listens"));
        }
        // Three have a place beside the page, whichever they are; the others are closed.
        let mut open = others.len();
        let end = Instant::now() + PATIENCE;
        while open > 3 {
            assert!(Instant::now() < end, "{open} connections are open");
            tokio::time::sleep(Duration::from_millis(20)).await;
            let waits = |s: &&TcpStream| matches!(s.try_read(&mut [0; 8]), Err(e) if e.kind() == std::io::ErrorKind::WouldBlock);
            open = others.iter().filter(waits).count();
        }
        assert_eq!(open, 3);
        frame(&mut page).await;
        // Who leaves makes room.
        drop(others);
        let end = Instant::now() + PATIENCE;
        while try_connect(&server, &server.token, Some(&format!("http://{}", server.local))).await.is_err() {
            assert!(Instant::now() < end, "no room again");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        frame(&mut page).await;
    });
}

#[test]
fn a_window_that_does_not_answer_lets_go_and_a_slow_one_stays() {
    // So long that a window that reads has had its turn even on a machine that does ten other things.
    let (beat, silence) = (Duration::from_millis(50), Duration::from_secs(10));
    let server = bounded(Bounds { beat, silence, ..Bounds::default() });
    run(async {
        let mut page = connect(&server).await;
        let mut sleeper = connect(&server).await;
        let grab = json!({ "do": "grab", "hand": 1, "solid": "coupler", "point": [0, 0, 0] });
        assert_eq!(act(&mut sleeper, 1, grab).await["event"], "done");
        // From here on the sleeper reads nothing. This one reads, at half the rate of the frames.
        let mut slow = connect(&server).await;
        let grab = json!({ "do": "grab", "hand": 2, "solid": "crank", "point": [0.2, 0, 0] });
        assert_eq!(act(&mut slow, 1, grab).await["event"], "done");
        while held(&frame(&mut page).await) != 2 {}
        let end = Instant::now() + PATIENCE;
        let (mut hands, mut least, mut after) = (2, 2, 0);
        while hands > 1 || after < 60 {
            after += u32::from(hands == 1);
            assert!(Instant::now() < end, "a window that does not answer still holds a solid");
            let pause = tokio::time::sleep(Duration::from_millis(33));
            let (_, message, seen) = tokio::join!(pause, slow.next(), frame(&mut page));
            assert!(matches!(message, Some(Ok(_))), "the slow window was closed: {message:?}");
            // The page must not fall behind, so that it sees what is.
            hands = held(&seen);
            least = least.min(hands);
            while let Ok(Some(Ok(more))) = tokio::time::timeout(Duration::from_millis(1), page.next()).await {
                if let Message::Binary(bytes) = more {
                    hands = held(&bytes);
                }
            }
        }
        assert_eq!((hands, least), (1, 1), "the slow window holds its solid");
        let drag = json!({ "do": "drag", "hand": 2, "position": [0, 0, 0] });
        assert_eq!(act(&mut slow, 2, drag).await["event"], "done");
        drop(sleeper);
    });
}

/// F27: strangers who said nothing kept everybody out until their time was over, and came again.
#[test]
fn strangers_make_room_for_whoever_has_the_token() {
    let patient = Duration::from_secs(3600);
    let server = bounded(Bounds { head: patient, connections: 4, ..Bounds::default() });
    run(async {
        use tokio::io::AsyncWriteExt;
        let mut strangers = Vec::new();
        for k in 0..12 {
            let mut stream = TcpStream::connect(server.local).await.expect("it listens");
            if k % 2 == 0 {
                let _ =
                    stream.write_all(b"GET /?token=guessed HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ").await;
            }
            strangers.push(stream);
        }
        let mut pages = Vec::new();
        for _ in 0..3 {
            let mut page = tokio::time::timeout(PATIENCE, connect(&server)).await.expect("let in");
            frame(&mut page).await;
            pages.push(page);
        }
        // And they stay, however many come now.
        for _ in 0..12 {
            strangers.push(TcpStream::connect(server.local).await.expect("it listens"));
        }
        assert!(is_closed(&mut strangers[0]).await);
        for (k, page) in pages.iter_mut().enumerate() {
            assert_eq!(act(page, k as u64, json!({ "do": "run", "on": false })).await["event"], "done");
        }
    });
}

/// F27: a message above 8 MiB ended the connection without a word.
#[test]
fn too_large_a_message_is_refused_in_words() {
    use futures_util::SinkExt;
    let server = bounded(Bounds::default());
    run(async {
        let mut page = connect(&server).await;
        let text = json!({ "v": 1, "id": 7, "command": { "do": "set-text", "text": "x".repeat(9 << 20) } });
        page.send(Message::text(text.to_string())).await.expect("it listens");
        let refusal = super::tests::answer(&mut page, 7).await;
        assert_eq!(refusal["event"], "error");
        assert!(refusal["message"].as_str().expect("words").contains("8 MiB"), "{refusal}");
        assert_eq!(act(&mut page, 8, json!({ "do": "run", "on": false })).await["event"], "done");
        // Far too large: it is closed, with the reason that the protocol has for that.
        let (mut out, mut back) = page.split();
        let sending = async {
            // It may be closed while this is on its way.
            let _ = out.send(Message::text("x".repeat(40 << 20))).await;
            std::future::pending::<()>().await;
        };
        let hearing = async {
            loop {
                match back.next().await {
                    Some(Ok(Message::Close(Some(frame)))) => return u16::from(frame.code),
                    Some(Ok(_)) => continue,
                    other => panic!("closed without a word: {other:?}"),
                }
            }
        };
        let code = tokio::time::timeout(PATIENCE, async {
            tokio::select! { _ = sending => unreachable!(), code = hearing => code }
        });
        assert_eq!(code.await.expect("an answer"), 1009);
    });
}

/// F27: drawings and exports could be taken for something else, and the page was let talk to any socket.
#[test]
fn everything_that_is_served_says_what_it_is() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let server = bounded(Bounds::default());
    run(async {
        for path in
            ["/", "/thumb/fourbar.svg", "/export/scene.glb", "/export/log.json", "/nothing", "/thumb/x"]
        {
            let mut stream = TcpStream::connect(server.local).await.expect("it listens");
            let ask = format!(
                "GET {path}?token={} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
                server.token, server.local
            );
            stream.write_all(ask.as_bytes()).await.expect("it reads");
            let mut answer = Vec::new();
            let all = stream.read_to_end(&mut answer);
            tokio::time::timeout(PATIENCE, all).await.expect("an answer").expect("an answer");
            let end = answer.windows(4).position(|w| w == b"\r\n\r\n").expect("a head");
            let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
            assert!(head.contains("x-content-type-options: nosniff"), "{path}: {head}");
            assert!(head.contains("x-frame-options: deny"), "{path}: {head}");
            if path == "/" {
                let policy =
                    head.lines().find(|l| l.starts_with("content-security-policy")).expect("a policy");
                let sockets = format!("connect-src 'self' ws://{0} wss://{0} blob:;", server.local);
                assert!(policy.contains(&sockets), "{policy}");
            }
        }
    });
}

/// F27: `--host` without `--xr` did not say that the token travels in the clear.
#[test]
fn what_travels_in_the_clear_is_told() {
    let ip = |text: &str| text.parse().expect("an address");
    assert!(super::in_the_clear(ip("192.168.0.7"), false).is_some_and(|w| w.contains("unencrypted")));
    assert!(super::in_the_clear(ip("0.0.0.0"), false).is_some());
    assert!(super::in_the_clear(ip("0.0.0.0"), true).is_none());
    assert!(super::in_the_clear(ip("127.0.0.1"), false).is_none());
    assert!(super::in_the_clear(ip("::1"), false).is_none());
}
