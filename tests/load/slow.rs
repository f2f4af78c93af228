//! Destinations that take a request and stay silent for a while, each on a port of its own, in a process of their own.

use crate::Outcome;
use crate::bare::{accept, acceptor};
use crate::proc::Process;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Request, Response};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::TcpListener;

/// Longer than the part of the run that needs it, and shorter than the time that a proxy waits.
const SILENCE: Duration = Duration::from_secs(20);

pub(crate) struct SlowDestinations {
    _process: Process,
    pub(crate) ready: SlowReady,
}

#[derive(Deserialize, Serialize)]
pub(crate) struct SlowReady {
    pub(crate) ports: Vec<u16>,
    pub(crate) ca: PathBuf,
}

impl SlowDestinations {
    pub(crate) fn start(count: usize, directory: &Path) -> Outcome<Self> {
        let (process, ready) = Process::start_part("--slow", &count, directory)?;
        Ok(Self { ready, _process: process })
    }
}

/// The main function of the destinations: runs until its standard input closes.
pub(crate) fn serve(file: &Path) -> Outcome<()> {
    let count: usize = serde_json::from_slice(&std::fs::read(file)?)?;
    let ca = file.with_file_name("slow-ca.pem");
    let acceptor = acceptor(&ca)?;
    let (closed, parent_gone) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        drop(std::io::stdin().read_to_end(&mut Vec::new()));
        drop(closed);
    });
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let mut ports = Vec::with_capacity(count);
        for _ in 0..count {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            ports.push(listener.local_addr()?.port());
            let acceptor = acceptor.clone();
            tokio::spawn(async move { drop(accept(listener, acceptor, stay_silent).await) });
        }
        println!("{}", serde_json::to_string(&SlowReady { ports, ca })?);
        std::io::stdout().flush()?;
        drop(parent_gone.await);
        Ok(())
    })
}

async fn stay_silent(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    request.into_body().collect().await?;
    tokio::time::sleep(SILENCE).await;
    Ok(Response::new(Full::new(Bytes::from_static(b"{}"))))
}
