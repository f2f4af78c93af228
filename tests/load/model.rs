//! The first answers of the vault, for the bare server to repeat, and the proof that it does. It never compares speeds.

use crate::Outcome;
use crate::client::{Answer, Connection, Target, block_on};
use crate::request::{Load, Work};
use serde::{Deserialize, Serialize};

/// hyper writes these itself, here as in the vault.
const WRITTEN_BY_HYPER: [&str; 4] = ["connection", "content-length", "date", "transfer-encoding"];

/// The loads whose answers are repeated, and the vault's status for each.
const LOADS: [(Load, u16); 3] =
    [(Load::Create, 201), (Load::Get, 200), (Load::Page(String::new()), 200)];

/// The answers to repeat, as the vault gave them.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Model {
    pub(crate) key: String,
    pub(crate) create: Reply,
    pub(crate) get: Reply,
    pub(crate) page: Reply,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn of(connection: &Connection, answer: &Answer) -> Outcome<Self> {
        let head = std::str::from_utf8(connection.bytes(&answer.head))?;
        let headers = head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .filter(|(name, _)| !WRITTEN_BY_HYPER.contains(&name.as_str()))
            .collect();
        let body = String::from_utf8(connection.bytes(&answer.body).to_vec())?;
        Ok(Self { status: answer.status, headers, body })
    }

    /// The bytes on the wire, less the lines that hyper writes on both sides.
    pub(crate) fn bytes(&self) -> usize {
        let headers: usize =
            self.headers.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
        headers + self.body.len()
    }
}

/// Asks the vault once for everything that the bare server shall repeat.
pub(crate) fn learn(target: &Target, get: &Work) -> Outcome<Model> {
    block_on(async {
        let mut connection = target.connect().await?;
        let mut replies = Vec::new();
        for (load, status) in LOADS {
            let work = Work { load: load.clone(), ..get.clone() };
            replies.push(expect_reply(target, &mut connection, work, status).await?);
        }
        let [create, get, page] = replies.try_into().expect("one reply for each load");
        Ok(Model { key: target.key.clone(), create, get, page })
    })
}

/// The comparison is worth nothing unless the bare server sends what the vault sent.
pub(crate) fn confirm_replies(bare: &Target, work: &Work, model: &Model) -> Outcome<()> {
    block_on(async {
        let mut connection = bare.connect().await?;
        for ((load, _), expected) in LOADS.iter().zip([&model.create, &model.get, &model.page]) {
            let work = Work { load: load.clone(), ..work.clone() };
            let reply = expect_reply(bare, &mut connection, work, expected.status).await?;
            if reply != *expected {
                return Err("the bare server does not repeat the vault's answer".into());
            }
        }
        Ok(())
    })
}

pub(crate) fn compare_tls(vault: &Target, bare: &Target) -> Outcome<()> {
    block_on(async {
        let (vault, bare) = (vault.connect().await?.cipher(), bare.connect().await?.cipher());
        if vault != bare {
            return Err(format!("the vault speaks {vault}, the bare server {bare}").into());
        }
        Ok(())
    })
}

pub(crate) async fn expect_reply(
    target: &Target,
    connection: &mut Connection,
    work: Work,
    status: u16,
) -> Outcome<Reply> {
    target.requests(work).write_next(&mut connection.out);
    let answer = connection.exchange_in_time().await?;
    let reply = Reply::of(connection, &answer)?;
    if reply.status != status {
        return Err(format!("expected {status}, got {}: {}", reply.status, reply.body).into());
    }
    Ok(reply)
}
