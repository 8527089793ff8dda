//! The load generator: one thread, one epoll, many keep-alive connections with one request outstanding on each.
//!
//! It shares two cores with everything it measures, so it does nothing but write prepared bytes and check what comes back. Two paces:
//! `Closed` sends the next request when an answer is complete; `Fixed` sends by the clock and counts latency from the moment the
//! request was due, also when every connection was still busy then, so a slow answer cannot hide the ones waiting behind it.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::event::epoll;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use crate::check::Expected;
use crate::content::mix;
use crate::error::{Context, Result, check_interrupt};
use crate::plan::{Outcome, Pace, Plan};
use crate::request::{Endpoint, FIRST_ID, Template};
use crate::wire::Response;

const STALL: Duration = Duration::from_secs(20);
const MAX_ERRORS: u64 = 100;
const TIMER: u64 = u64::MAX;

/// Ids are never used twice in a run, so an answer that comes to the wrong place cannot be taken for the right one.
static NEXT_ID: AtomicU64 = AtomicU64::new(FIRST_ID);

struct Connection {
    stream: TcpStream,
    response: Response,
    waiting: Option<(Expected, Instant)>,
}

struct Generator<'a> {
    endpoint: &'a Endpoint,
    plan: Plan,
    template: Template,
    epoll: OwnedFd,
    connections: Vec<Connection>,
    /// First in, first out: every connection, and so every worker of a proxy, gets its share.
    idle: VecDeque<usize>,
    start: Instant,
    sent: u64,
    last_answer: Instant,
    outcome: Outcome,
}

pub fn run(endpoint: &Endpoint, plan: Plan) -> Result<Outcome> {
    let mut generator = Generator::new(endpoint, plan)?;
    generator.drive()?;
    let mut outcome = generator.outcome;
    outcome.elapsed = generator.last_answer.duration_since(generator.start);
    Ok(outcome)
}

impl<'a> Generator<'a> {
    fn new(endpoint: &'a Endpoint, plan: Plan) -> Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).context(|| "epoll".into())?;
        let mut connections = Vec::with_capacity(plan.connections);
        for index in 0..plan.connections {
            let stream = connect(endpoint, &epoll, index)?;
            connections.push(Connection { stream, response: Response::default(), waiting: None });
        }
        let idle = (0..plan.connections).collect();
        let start = Instant::now();
        let template = endpoint.tool_call(plan.payload);
        let outcome = Outcome::default();
        Ok(Self { endpoint, plan, template, epoll, connections, idle, start, sent: 0, last_answer: start, outcome })
    }

    fn drive(&mut self) -> Result<()> {
        let mut events = Vec::with_capacity(self.plan.connections + 1);
        let mut buffer = vec![0; 256 * 1024];
        let tick = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        self.start = Instant::now();
        self.last_answer = self.start;
        // After `start`, and with the very interval requests are due by: a tick that came early would find nothing to send.
        let timer = self.timer()?;
        loop {
            self.send_due()?;
            if self.finished() {
                return Ok(());
            }
            check_interrupt()?;
            if self.last_answer.elapsed() > STALL && self.outstanding() > 0 {
                let waiting = self.outstanding() as u64;
                self.complain(waiting, format!("{waiting} requests without an answer for {} s", STALL.as_secs()));
                return Ok(());
            }
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&tick)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error).context(|| "epoll".into()),
            }
            for event in &events {
                match (event.data.u64(), &timer) {
                    (TIMER, Some(timer)) => drop(rustix::io::read(timer, &mut [0; 8])),
                    (index, _) => self.readable(usize::try_from(index).unwrap_or(usize::MAX), &mut buffer)?,
                }
            }
        }
    }

    /// Only for a fixed rate: an interval timer of the kernel's, because a sleep in whole milliseconds would be most of the latency.
    fn timer(&self) -> Result<Option<OwnedFd>> {
        let Pace::Fixed { interval } = self.plan.pace else {
            return Ok(None);
        };
        let spec = Timespec::try_from(interval).context(|| "timer interval".into())?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags).context(|| "timer".into())?;
        let both = Itimerspec { it_interval: spec, it_value: spec };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &both).context(|| "timer".into())?;
        epoll::add(&self.epoll, &timer, epoll::EventData::new_u64(TIMER), epoll::EventFlags::IN)
            .context(|| "timer".into())?;
        Ok(Some(timer))
    }

    fn outstanding(&self) -> usize {
        self.plan.connections - self.idle.len()
    }

    /// When the next request is due, if there is one.
    fn next_due(&self) -> Option<Instant> {
        if self.sent >= self.plan.limit || self.outcome.errors >= MAX_ERRORS {
            return None;
        }
        let end = self.start + self.plan.time;
        match self.plan.pace {
            Pace::Closed => Some(Instant::now()).filter(|now| *now < end),
            Pace::Fixed { interval } => {
                let after = interval.saturating_mul(u32::try_from(self.sent).unwrap_or(u32::MAX));
                Some(self.start + after).filter(|due| *due < end)
            }
        }
    }

    fn finished(&self) -> bool {
        self.outstanding() == 0 && self.next_due().is_none()
    }

    fn send_due(&mut self) -> Result<()> {
        while !self.idle.is_empty() {
            let Some(due) = self.next_due().filter(|due| *due <= Instant::now()) else {
                return Ok(());
            };
            let Some(index) = self.idle.pop_front() else {
                return Ok(());
            };
            self.send(index, due)?;
        }
        Ok(())
    }

    fn send(&mut self, index: usize, due: Instant) -> Result<()> {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let seed = mix(id);
        self.sent += 1;
        let Some(connection) = self.connections.get_mut(index) else {
            return Ok(());
        };
        connection.response.reset();
        connection.waiting = Some((Expected::new(id, seed, self.plan.payload), due));
        let bytes = self.template.fill(id, seed);
        // One small request into an empty socket: a short write means the connection is broken.
        match connection.stream.write(bytes) {
            Ok(written) if written == bytes.len() => Ok(()),
            Ok(_) => self.broken(index, "short write".into()),
            Err(error) => self.broken(index, format!("write: {error}")),
        }
    }

    fn readable(&mut self, index: usize, buffer: &mut [u8]) -> Result<()> {
        let Some(connection) = self.connections.get_mut(index) else {
            return Ok(());
        };
        let read = match connection.stream.read(buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return self.broken(index, format!("read: {error}")),
        };
        let Some((expected, due)) = connection.waiting.as_mut() else {
            // Closed while idle is the server's right; anything else is not.
            return if read == 0 { self.reconnect(index) } else { self.broken(index, "bytes nobody asked for".into()) };
        };
        if read == 0 {
            return self.broken(index, "closed before the answer was complete".into());
        }
        let bytes = buffer.get(..read).unwrap_or_default();
        let response = &mut connection.response;
        if let Err(what) = response.feed(bytes).and_then(|()| expected.progress(response)) {
            return self.broken(index, what);
        }
        if !response.done() {
            return Ok(());
        }
        let verdict = expected.finish(response);
        let (due, keep_alive) = (*due, response.keep_alive);
        connection.waiting = None;
        self.last_answer = Instant::now();
        match verdict {
            Ok(()) => {
                self.outcome.done += 1;
                self.outcome
                    .latencies_ns
                    .push(u64::try_from(self.last_answer.duration_since(due).as_nanos()).unwrap_or(u64::MAX));
            }
            Err(what) => self.complain(1, what),
        }
        self.idle.push_back(index);
        if keep_alive { Ok(()) } else { self.reconnect(index) }
    }

    fn broken(&mut self, index: usize, what: String) -> Result<()> {
        self.complain(1, what);
        if self.connections.get_mut(index).is_some_and(|connection| connection.waiting.take().is_some()) {
            self.idle.push_back(index);
        }
        self.reconnect(index)
    }

    fn reconnect(&mut self, index: usize) -> Result<()> {
        let stream = connect(self.endpoint, &self.epoll, index)?;
        if let Some(connection) = self.connections.get_mut(index) {
            connection.response.reset();
            connection.stream = stream;
        }
        Ok(())
    }

    fn complain(&mut self, errors: u64, what: String) {
        self.outcome.errors += errors;
        if self.outcome.samples.len() < 3 {
            self.outcome.samples.push(what);
        }
    }
}

fn connect(endpoint: &Endpoint, epoll: &OwnedFd, index: usize) -> Result<TcpStream> {
    let doing = || format!("connect to {}", endpoint.addr);
    let stream = TcpStream::connect_timeout(&endpoint.addr, Duration::from_secs(5)).context(doing)?;
    stream.set_nodelay(true).context(doing)?;
    stream.set_nonblocking(true).context(doing)?;
    epoll::add(epoll, &stream, epoll::EventData::new_u64(index as u64), epoll::EventFlags::IN).context(doing)?;
    Ok(stream)
}
