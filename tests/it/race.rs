//! Requests that are sent at the same moment, each on a connection that is open already.

use std::sync::Barrier;
use std::thread;

use crate::harness::{Answer, Request, Vault};

/// The answers in the order of the requests. No more than an address may have connections.
pub(crate) fn at_once(vault: &Vault, requests: &[Request]) -> Vec<Answer> {
    let host = vault.address.to_string();
    let connections: Vec<_> = requests.iter().map(|_| vault.connect()).collect();
    let start = Barrier::new(requests.len());
    thread::scope(|scope| {
        let (start, host) = (&start, &host);
        let one = |(request, mut connection): (&Request, crate::harness::Connection)| {
            let bytes = request.bytes(host);
            scope.spawn(move || {
                start.wait();
                connection.send(&bytes).unwrap();
                connection.receive().unwrap()
            })
        };
        let threads: Vec<_> = requests.iter().zip(connections).map(one).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    })
}
