//! The way in: how many connections there may be, and how long each may take to say what it wants.

use axum_server::accept::Accept;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
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
}

impl<A> Door<A> {
    /// A door for so many, each with so much time for its first words.
    pub fn new(inner: A, places: usize, patience: Duration) -> Self {
        Self { inner, places: Arc::new(Semaphore::new(places)), patience }
    }
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
        let Ok(place) = self.places.clone().try_acquire_owned() else {
            // The stream ends here, and with it the connection.
            return Box::pin(async { Err(io::Error::other("too many connections")) });
        };
        let inner = self.inner.accept(stream, service);
        let patience = self.patience;
        Box::pin(async move {
            let (stream, service) = inner.await?;
            let clock = Some(Box::pin(tokio::time::sleep(patience)));
            Ok((Guest { stream, read: 0, clock, _place: place }, service))
        })
    }
}

/// A connection with a place.
pub struct Guest<T> {
    stream: T,
    read: usize,
    /// Runs until it has said enough to be somebody else's concern.
    clock: Option<Pin<Box<Sleep>>>,
    _place: OwnedSemaphorePermit,
}

impl<T: AsyncRead + Unpin> AsyncRead for Guest<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let done = Pin::new(&mut self.stream).poll_read(cx, buf);
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
