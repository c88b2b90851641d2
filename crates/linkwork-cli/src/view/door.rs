//! The way in: how many connections there may be, and how long each may take to say what it wants. When all places are
//! taken, whoever has waited longest without showing the token makes room: strangers keep nobody out.

use super::http::same;
use axum_server::accept::Accept;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::Sleep;

/// Which version of HTTP it is to be is known after so many bytes, and no sooner has hyper's own clock started.
const PREFACE: usize = 24;

/// Tells hyper how long a request's head may take. HTTP/2 is not offered, but who insists on it is asked for signs of life.
pub fn limit(builder: &mut Builder<TokioExecutor>, patience: Duration) {
    builder.http1().timer(TokioTimer::new()).header_read_timeout(patience);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(patience).keep_alive_timeout(patience);
}

/// Lets so many in at once. `inner` does what else is to be done on the way in.
#[derive(Clone)]
pub struct Door<A> {
    inner: A,
    places: Arc<Semaphore>,
    patience: Duration,
    /// What those say who are known.
    token: Arc<str>,
    strangers: Strangers,
}

/// Connections that have not shown the token, in the order in which they came: a word to each makes it go.
type Strangers = Arc<Mutex<VecDeque<oneshot::Sender<()>>>>;

/// So much of what a connection says is looked at for the token: the line of its first request.
const FIRST_WORDS: usize = 4096;

impl<A> Door<A> {
    /// A door for so many, each with so much time for its first words; whoever shows the token stays.
    pub fn new(inner: A, places: usize, patience: Duration, token: &str) -> Self {
        let places = Arc::new(Semaphore::new(places));
        Self { inner, places, patience, token: token.into(), strangers: Strangers::default() }
    }
}

/// Sends the stranger who came first away. False when there is none.
fn make_room(strangers: &Strangers) -> bool {
    let mut list = strangers.lock().unwrap_or_else(PoisonError::into_inner);
    while let Some(stranger) = list.pop_front() {
        // Some have gone, or are known by now.
        if stranger.send(()).is_ok() {
            return true;
        }
    }
    false
}

/// One more stranger.
fn admit(strangers: &Strangers) -> oneshot::Receiver<()> {
    let (away, told) = oneshot::channel();
    let mut list = strangers.lock().unwrap_or_else(PoisonError::into_inner);
    list.retain(|s| !s.is_closed());
    list.push_back(away);
    told
}

impl<A, I, S> Accept<I, S> for Door<A>
where
    A: Accept<I, S>,
    A::Future: Send + 'static,
{
    type Stream = Guest<A::Stream>;
    type Service = A::Service;
    type Future = Pin<Box<dyn Future<Output = io::Result<(Self::Stream, Self::Service)>> + Send>>;

    fn accept(&self, stream: I, service: S) -> Self::Future {
        let places = self.places.clone();
        let place = places.clone().try_acquire_owned().ok();
        if place.is_none() && !make_room(&self.strangers) {
            // The stream ends here, and with it the connection.
            return Box::pin(async { Err(io::Error::other("too many connections")) });
        }
        let inner = self.inner.accept(stream, service);
        let (patience, token, strangers) = (self.patience, self.token.clone(), self.strangers.clone());
        Box::pin(async move {
            let place = match place {
                Some(place) => place,
                None => {
                    let free = tokio::time::timeout(patience, places.acquire_owned()).await;
                    free.map_err(io::Error::other)?.map_err(io::Error::other)?
                }
            };
            let told = admit(&strangers);
            let inner = tokio::time::timeout(patience, inner).await;
            let (stream, service) = inner.map_err(io::Error::other)??;
            let clock = Some(Box::pin(tokio::time::sleep(patience)));
            let unknown = Some(Unknown { said: Vec::new(), token, told });
            Ok((Guest { stream, read: 0, clock, unknown, _place: place }, service))
        })
    }
}

/// A connection with a place.
pub struct Guest<T> {
    stream: T,
    read: usize,
    /// Runs until it has said enough to be somebody else's concern.
    clock: Option<Pin<Box<Sleep>>>,
    /// Until it shows the token.
    unknown: Option<Unknown>,
    _place: OwnedSemaphorePermit,
}

/// Somebody who may be sent away.
struct Unknown {
    said: Vec<u8>,
    token: Arc<str>,
    told: oneshot::Receiver<()>,
}

impl Unknown {
    /// Hears more of it; tells whether it has shown the token.
    fn hear(&mut self, more: &[u8]) -> bool {
        let room = FIRST_WORDS.saturating_sub(self.said.len());
        self.said.extend_from_slice(&more[..more.len().min(room)]);
        self.said.windows(self.token.len()).any(|w| same(w, self.token.as_bytes()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Guest<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let done = Pin::new(&mut self.stream).poll_read(cx, buf);
        if let Some(unknown) = &mut self.unknown {
            if unknown.hear(&buf.filled()[before..]) {
                self.unknown = None;
            } else if done.is_pending() && Pin::new(&mut unknown.told).poll(cx).is_ready() {
                self.unknown = None;
                return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
            }
        }
        if let Some(clock) = &mut self.clock {
            if done.is_pending() && clock.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            self.read += buf.filled().len() - before;
            if self.read >= PREFACE {
                self.clock = None;
            }
        }
        done
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Guest<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }
    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
