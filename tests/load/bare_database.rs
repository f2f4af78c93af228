//! The yardstick of the engine on a database: hyper and rustls alone, in a process of their own, with one INSERT for each
//! create and one SELECT for each get. Its row has as many bytes as the rows that the vault writes for a card, and its answers
//! are those of the vault. It seals nothing, and keeps no index, no audit chain and no idempotency key.

use crate::Outcome;
use crate::bare::{BareReady, Prepared, accept, acceptor, run_until_parent_ends};
use crate::client::{Target, id_of};
use crate::cluster::connect;
use crate::model::{Model, Reply};
use crate::proc::Process;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode};
use serde::{Deserialize, Serialize};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;
use tokio_postgres::{Client, Statement};
use uuid::Uuid;

/// As many as a process of the vault reads with.
const CONNECTIONS: usize = 20;
const KEY_BYTES: usize = 16;
const TABLE: &str = "CREATE TABLE bare_rows (key bytea PRIMARY KEY, value bytea NOT NULL)";

/// The work of the server, as it reads it from a file.
#[derive(Deserialize, Serialize)]
pub(crate) struct Order {
    /// The directory of the database server's socket.
    pub(crate) socket: PathBuf,
    pub(crate) database: String,
    /// Bytes of a row with its key.
    pub(crate) row_bytes: usize,
    pub(crate) model: Model,
}

pub(crate) struct BareDatabase {
    _process: Process,
    pub(crate) target: Target,
}

impl BareDatabase {
    /// Starts this program again as the bare server.
    pub(crate) fn start(order: &Order, directory: &Path) -> Outcome<Self> {
        let (process, ready): (_, BareReady) =
            Process::start_part("--bare-database", order, directory)?;
        let target = ready.target(&process, &order.model.key)?;
        Ok(Self { _process: process, target })
    }
}

pub(crate) fn serve(order: &Path) -> Outcome<()> {
    let ca = order.with_file_name("bare-ca.pem");
    let order: Order = serde_json::from_slice(&std::fs::read(order)?)?;
    let acceptor = acceptor(&ca)?;
    run_until_parent_ends(ca, |listener| async move {
        let server = Arc::new(Server::new(&order).await?);
        accept(listener, acceptor, move |request| answer(request, Arc::clone(&server))).await
    })
}

struct Session {
    client: Client,
    insert: Statement,
    select: Statement,
}

struct Server {
    free: Semaphore,
    sessions: Mutex<Vec<Session>>,
    create: Template,
    get: Prepared,
    /// Bytes that no database can compress, as sealed values.
    noise: Vec<u8>,
    value_bytes: usize,
    serial: AtomicU64,
    random: RandomState,
}

impl Server {
    async fn new(order: &Order) -> Outcome<Self> {
        let first = connect(&order.socket, &order.database).await?;
        first.batch_execute(TABLE).await?;
        let mut sessions = Vec::with_capacity(CONNECTIONS);
        for _ in 0..CONNECTIONS {
            let client = connect(&order.socket, &order.database).await?;
            let insert = client.prepare("INSERT INTO bare_rows VALUES ($1, $2)").await?;
            let select = client.prepare("SELECT value FROM bare_rows WHERE key = $1").await?;
            sessions.push(Session { client, insert, select });
        }
        let random = RandomState::new();
        let value_bytes = order.row_bytes.saturating_sub(KEY_BYTES);
        let noise = (0..value_bytes as u64 * 2).map(|at| random.hash_one(at) as u8).collect();
        Ok(Self {
            free: Semaphore::new(CONNECTIONS),
            sessions: Mutex::new(sessions),
            create: Template::new(&order.model.create)?,
            get: Prepared::new(&order.model.get)?,
            noise,
            value_bytes,
            serial: AtomicU64::new(0),
            random,
        })
    }

    async fn on_session<T>(
        &self,
        work: impl AsyncFnOnce(&Session) -> Result<T, tokio_postgres::Error>,
    ) -> Outcome<T> {
        let _permit = self.free.acquire().await?;
        let taken = self.sessions.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let session = taken.ok_or("a permit without a connection")?;
        let done = work(&session).await;
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).push(session);
        Ok(done?)
    }

    async fn insert(&self) -> Outcome<Response<Full<Bytes>>> {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let (high, low) = (self.random.hash_one(serial), self.random.hash_one(!serial));
        let id = Uuid::from_u64_pair(high, low);
        let from = (high as usize) % self.value_bytes.max(1);
        let (key, value) = (id.as_bytes().as_slice(), &self.noise[from..from + self.value_bytes]);
        self.on_session(async |it| it.client.execute(&it.insert, &[&key, &value]).await).await?;
        Ok(self.create.response(id))
    }

    async fn select(&self, path: &str) -> Outcome<Response<Full<Bytes>>> {
        let id: Uuid = path.rsplit('/').next().unwrap_or_default().parse()?;
        let key = id.as_bytes().as_slice();
        let row =
            self.on_session(async |it| it.client.query_one(&it.select, &[&key]).await).await?;
        let value: &[u8] = row.try_get(0)?;
        if value.len() != self.value_bytes {
            return Err("a row has another length".into());
        }
        Ok(self.get.response())
    }
}

/// The answer to a create, with a place for the id.
struct Template {
    reply: Prepared,
    id: String,
}

impl Template {
    fn new(reply: &Reply) -> Outcome<Self> {
        let id = id_of(reply.body.as_bytes()).ok_or("the vault's answer has no id")?;
        Ok(Self { reply: Prepared::new(reply)?, id })
    }

    fn response(&self, id: Uuid) -> Response<Full<Bytes>> {
        let body = String::from_utf8_lossy(&self.reply.body);
        let body = body.replacen(&self.id, &id.to_string(), 1);
        self.reply.response().map(|_| Full::new(Bytes::from(body)))
    }
}

/// A failure is an answer that the client counts as an error.
async fn answer(
    request: Request<Incoming>,
    server: Arc<Server>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let answered = if request.method() == Method::POST {
        request.into_body().collect().await?;
        server.insert().await
    } else {
        server.select(request.uri().path()).await
    };
    Ok(answered.unwrap_or_else(|why| {
        let mut response = Response::new(Full::new(Bytes::from(why.to_string())));
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    }))
}
