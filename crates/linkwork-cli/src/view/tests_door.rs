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
