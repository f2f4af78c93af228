//! The first answers of the vault, for the bare server to repeat, and the proof that it does. It never compares speeds.

use crate::Outcome;
use crate::client::{Answer, Connection, Target};
use crate::plan::block_on;
use crate::request::{Load, Work};
use serde::{Deserialize, Serialize};

/// hyper writes these itself, here as in the vault.
const WRITTEN_BY_HYPER: [&str; 4] = ["connection", "content-length", "date", "transfer-encoding"];

/// The answers to repeat, as the vault gave them.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Model {
    pub(crate) key: String,
    pub(crate) create: Reply,
    pub(crate) get: Reply,
    pub(crate) page: Option<Reply>,
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
pub(crate) fn learn(target: &Target, get: &Work, list: Option<Work>) -> Outcome<Model> {
    block_on(async {
        let mut connection = target.connect().await?;
        let work = Work { load: Load::Create, ..get.clone() };
        let create = expect_reply(target, &mut connection, work, 201).await?;
        let get = expect_reply(target, &mut connection, get.clone(), 200).await?;
        let page = match list {
            Some(work) => Some(expect_reply(target, &mut connection, work, 200).await?),
            None => None,
        };
        Ok(Model { key: target.key.clone(), create, get, page })
    })
}

/// The comparison is worth nothing unless the bare server sends what the vault sent.
pub(crate) fn confirm_replies(bare: &Target, work: &Work, model: &Model) -> Outcome<()> {
    block_on(async {
        let mut connection = bare.connect().await?;
        let page = model.page.as_ref().map(|page| (Load::Page(String::new()), page));
        let all = [(Load::Create, &model.create), (Load::Get, &model.get)].into_iter().chain(page);
        for (load, expected) in all {
            let work = Work { load, ..work.clone() };
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
