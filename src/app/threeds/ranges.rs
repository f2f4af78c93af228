//! Card ranges: fetched daily, kept in the file and in memory, and used for production tenants.
#![expect(clippy::similar_names, reason = "the messages have these names in the protocol")]

use std::sync::Arc;

use crate::app::CardRanges;
use crate::app::commit::commit_loop::Priority;
use crate::app::error::{Error, Fault, Upstream};
use crate::app::threeds::create::NO_SCHEME;
use crate::app::threeds::directory_servers::{DirectoryServers, ResponseKind, not_configured};
use crate::bounds::THREEDS_RANGES_RECORD_MAX;
use crate::crypto::{Identity, SystemKeys};
use crate::domain::card::iin::brand_of;
use crate::domain::id::SessionId;
use crate::store::record::{
    decode_known_ranges, decode_ranges, encode_known_ranges, encode_ranges,
};
use crate::store::{Change, Snapshot, Table, tables};
use crate::threeds::message::{
    self, Component, ErrorCode, Preq, RangesAnswer, Rejection, Text, parse_pres,
};
use crate::threeds::ranges::{DirectoryRanges, PreqResult, RangeTable};
use crate::threeds::scheme::Scheme;
use crate::threeds::session::Enrolment;

/// For the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangesRefresh {
    pub asked: PreqResult,
    pub ranges: usize,
}

impl CardRanges<'_> {
    /// Fetches all ranges that are due. The failure of one directory server does not affect the
    /// others. A lock admits one caller at a time.
    pub async fn refresh_all(self) -> Vec<(Scheme, Result<RangesRefresh, Error>)> {
        let _alone = self.vault.threeds.refreshing.lock().await;
        let servers = self.vault.threeds().network();
        let mut refreshed = Vec::new();
        for scheme in servers.schemes() {
            match self.known(scheme) {
                Ok(known) if self.vault.now() < known.due_at => (),
                Ok(known) => {
                    refreshed.push((scheme, self.refresh(&*servers, scheme, &known).await));
                }
                Err(error) => refreshed.push((scheme, Err(error))),
            }
        }
        refreshed
    }

    async fn refresh(
        self,
        servers: &dyn DirectoryServers,
        scheme: Scheme,
        known: &Arc<DirectoryRanges>,
    ) -> Result<RangesRefresh, Error> {
        let introduction =
            servers.introduction(scheme).ok_or_else(|| not_configured(scheme, None))?;
        let serial = known.table.as_ref().and_then(|table| table.serial.as_deref());
        let transaction = uuid::Builder::from_random_bytes(self.vault.random().bytes()).into_uuid();
        let preq = Preq {
            version: known.version,
            server_transaction: transaction,
            server_reference: Text::cut(&introduction.reference),
            server_operator: introduction.operator.as_deref().map(Text::cut),
            serial: serial.and_then(Text::parse),
        };
        // The `Erro` needs only the type of the answer, so the answer is not kept.
        let about = serde_json::json!({"messageType": "PRes"});
        let asked = servers.ask(scheme, &message::render(&preq), ResponseKind::Ranges).await;
        let (asked, table) = match asked {
            Err(_) => (PreqResult::Unanswered, None),
            Ok(reply) => {
                let before = Arc::clone(known);
                // Parsing tens of megabytes would delay other requests on this thread.
                let read = move || read(&before, &preq, reply.bytes.expose());
                let read = tokio::task::spawn_blocking(read).await.unwrap_or_else(|_| {
                    Err(Refusal::Ours(Rejection::new(ErrorCode::MessageInvalid, "")))
                });
                match read {
                    Ok(table) => (PreqResult::Answered, Some(table)),
                    Err(Refusal::Theirs(code)) => (PreqResult::Refused(code), None),
                    Err(Refusal::Ours(rejection)) => {
                        let code = rejection.code;
                        let mut erro = rejection.into_erro(&about, Component::ThreedsServer);
                        erro.version = known.version;
                        erro.server_transaction = Some(transaction);
                        let told = message::render(&erro);
                        servers.ask(scheme, &told, ResponseKind::Message).await.ok();
                        (PreqResult::Refused(code), None)
                    }
                }
            }
        };
        let mut after = DirectoryRanges::clone(known);
        after.table = table.or(after.table);
        let after = Arc::new(after.after(asked, self.vault.now()));
        // Update the memory before the file: ranges that cannot be stored are still used, and not
        // fetched again.
        self.vault.threeds.ranges().insert(scheme, Arc::clone(&after));
        // A missing answer is not stored: the next attempt comes soon, or at the next start.
        if asked != PreqResult::Unanswered {
            self.keep(scheme, &after).await?;
        }
        let ranges = after.table.as_ref().map_or(0, |table| table.ranges().len());
        Ok(RangesRefresh { asked, ranges })
    }

    async fn keep(self, scheme: Scheme, known: &DirectoryRanges) -> Result<(), Error> {
        let ranges = known.table.as_ref().map(RangeTable::ranges).unwrap_or_default();
        let parts = ranges.chunks(THREEDS_RANGES_RECORD_MAX);
        let count = u32::try_from(parts.len()).ok();
        let count =
            count.ok_or(Error::Internal(Fault::Impossible("more card ranges than parts")))?;
        self.by
            .commit(self.vault, Priority::Normal, |snapshot| {
                let mut change = Change::new();
                for (key, _) in snapshot.first(&tables::threeds_ranges_of(scheme), usize::MAX)? {
                    if tables::part_of_ranges_key(&key).is_none_or(|(_, part)| part > count) {
                        change = change.delete(Table::ThreedsRanges, key);
                    }
                }
                change = self.put(change, scheme, 0, encode_known_ranges(known, count)?.expose());
                for (part, ranges) in (1..=count).zip(parts.clone()) {
                    change = self.put(change, scheme, part, encode_ranges(ranges)?.expose());
                }
                Ok((change, ()))
            })
            .await
    }

    fn put(self, change: Change, scheme: Scheme, part: u32, plain: &[u8]) -> Change {
        let key = tables::threeds_ranges(scheme, part);
        let sealed = self.vault.keys().system().seal(&identity(&key), plain, self.vault.random());
        change.put(Table::ThreedsRanges, key, sealed)
    }

    /// Another process has stored newer ranges, which are read when they are needed.
    pub(in crate::app) fn forget(self) {
        self.vault.threeds.ranges().clear();
    }

    /// From memory; read from the file on the first call.
    fn known(self, scheme: Scheme) -> Result<Arc<DirectoryRanges>, Error> {
        if let Some(known) = self.vault.threeds.ranges().get(&scheme) {
            return Ok(Arc::clone(known));
        }
        let read = self.read(&self.vault.snapshot()?, scheme)?;
        let known = Arc::new(read.unwrap_or(DirectoryRanges::NOTHING));
        self.vault.threeds.ranges().insert(scheme, Arc::clone(&known));
        Ok(known)
    }

    pub(in crate::app) fn read(
        self,
        snapshot: &Snapshot,
        scheme: Scheme,
    ) -> Result<Option<DirectoryRanges>, Error> {
        let open = |part| -> Result<Option<_>, Error> {
            let key = tables::threeds_ranges(scheme, part);
            let Some(sealed) = snapshot.value(Table::ThreedsRanges, &key)? else { return Ok(None) };
            Ok(Some(self.vault.keys().system().open(&identity(&key), &sealed)?))
        };
        let Some(head) = open(0)? else { return Ok(None) };
        let head = decode_known_ranges(head.expose())?;
        let mut ranges = Vec::new();
        for part in 1..=head.parts {
            let plain = open(part)?.ok_or(Error::Internal(Fault::Dangling))?;
            ranges.extend(decode_ranges(plain.expose())?);
        }
        Ok(Some(head.with(ranges)?))
    }

    /// The card's scheme, the data for its authentication, and further schemes that know the card.
    /// The scheme of the card's brand is preferred.
    pub(super) fn enrol(
        self,
        number: &str,
        session: SessionId,
    ) -> Result<(Scheme, Enrolment, Vec<Scheme>), Error> {
        let own = brand_of(number).and_then(Scheme::of_brand);
        let configured = self.vault.threeds().network().schemes();
        let mut found = Vec::new();
        for scheme in own.into_iter().chain(Scheme::ALL.into_iter().filter(|it| own != Some(*it))) {
            if !configured.contains(&scheme) {
                continue;
            }
            let known = self.known(scheme)?;
            match &known.table {
                Some(table) => found.extend(table.find(scheme, number).map(|it| (scheme, it))),
                None if own == Some(scheme) => return Err(no_ranges(scheme, session)),
                None => (),
            }
        }
        let mut found = found.into_iter();
        match (found.next(), own) {
            (Some((scheme, enrolment)), _) => {
                Ok((scheme, enrolment, found.map(|(scheme, _)| scheme).collect()))
            }
            (None, Some(scheme)) if !configured.contains(&scheme) => {
                Err(not_configured(scheme, Some(session)))
            }
            (None, _) => Err(Error::invalid(NO_SCHEME, "No directory server knows the card.")),
        }
    }
}

/// An answer that was not accepted: this server's rejection, or the directory server's error.
enum Refusal {
    Ours(Rejection),
    Theirs(ErrorCode),
}

fn read(known: &DirectoryRanges, preq: &Preq, bytes: &[u8]) -> Result<RangeTable, Refusal> {
    match parse_pres(bytes).map_err(Refusal::Ours)? {
        RangesAnswer::Erro(erro) => Err(Refusal::Theirs(erro.code)),
        RangesAnswer::Pres(pres) => known.take(preq, pres).map_err(Refusal::Ours),
    }
}

fn no_ranges(scheme: Scheme, session: SessionId) -> Error {
    Error::Upstream(Box::new(Upstream {
        service_status: "503",
        session: Some(session),
        source: "Directory Server",
        message: "The directory server has not sent its card ranges yet.",
        detail: format!(
            "{}'s directory server has not answered since this server was set up; it is asked \
             again every minute.",
            scheme.display_name()
        ),
    }))
}

const fn identity(key: &[u8]) -> Identity<'_> {
    Identity { tenant: &SystemKeys::SCOPE, table: Table::ThreedsRanges.number(), key }
}
