//! The rows at one moment: the layers in memory over the data file.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use crate::bounds::PAGE_BYTES;
use crate::store::engine::Row;
use crate::store::engine::departure::Departure;
use crate::store::engine::local::base::{Base, BaseRows};
use crate::store::engine::local::layer::{Layer, LayerRow, LayerValue};
use crate::store::engine::local::log::Position;
use crate::store::engine::local::parts::{PARTS, part_of, parts_of};
use crate::store::engine::{BaseNumber, Moment, Order, Page, Read};
use crate::store::failure::StorageFailure;
use crate::store::tables::{KeyRange, Table};

/// An immutable view. Its layers may grow, but it sees only rows up to its sequence number.
#[derive(Clone)]
pub(super) struct View {
    pub(super) sequence: u64,
    /// The digest of the history up to `sequence`.
    pub(super) digest: [u8; 32],
    pub(super) timeline: [u8; 16],
    /// The reason why the history has left the archive.
    pub(super) departed: Option<Departure>,
    pub(super) parts: [Part; PARTS],
    pub(super) base: Arc<Base>,
}

#[derive(Debug, Clone)]
pub(super) struct Part {
    /// Takes new rows.
    pub(super) active: Arc<Layer>,
    /// Rows that a merge is moving into the data file.
    pub(super) frozen: Option<Arc<Layer>>,
}

impl Part {
    pub(super) fn new(start: Position) -> Self {
        Self { active: Arc::new(Layer::new(start)), frozen: None }
    }

    /// Newest first.
    fn layers(&self) -> impl Iterator<Item = &Arc<Layer>> {
        std::iter::once(&self.active).chain(self.frozen.as_ref())
    }
}

impl View {
    pub(super) fn of_base(base: Base, end: Position, timeline: [u8; 16]) -> Self {
        Self {
            sequence: end.sequence.saturating_sub(1),
            digest: end.digest,
            timeline,
            departed: None,
            parts: std::array::from_fn(|_| Part::new(end)),
            base: Arc::new(base),
        }
    }

    pub(super) fn part(&self, number: usize) -> Result<&Part, StorageFailure> {
        self.parts.get(number).ok_or(StorageFailure::Impossible("a row belongs to no part"))
    }

    pub(super) fn layer_bytes(&self) -> usize {
        let layers = self.parts.iter().flat_map(Part::layers);
        layers.map(|layer| layer.bytes()).fold(0, usize::saturating_add)
    }

    pub(super) fn active_bytes(&self) -> usize {
        self.parts.iter().map(|part| part.active.bytes()).fold(0, usize::saturating_add)
    }
}

impl Read for View {
    fn moment(&self) -> Result<Moment, StorageFailure> {
        let Self { timeline, sequence, digest, .. } = *self;
        Ok(Moment { timeline, sequence, digest })
    }

    fn departed(&self) -> Option<Departure> {
        self.departed
    }

    /// Does not count rows that are not in the data file yet.
    fn rows_about(&self) -> u64 {
        self.base.len()
    }

    fn base(&self) -> BaseNumber {
        self.base.number
    }

    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StorageFailure> {
        self.get_new(table, key, BaseNumber::default())
    }

    fn get_new(
        &self,
        table: Table,
        key: &[u8],
        base: BaseNumber,
    ) -> Result<Option<Vec<u8>>, StorageFailure> {
        for layer in self.part(part_of(table, key))?.layers() {
            if let Some(LayerValue(value)) = layer.get(table, key, self.sequence)? {
                return Ok(value);
            }
        }
        if base == self.base.number { Ok(None) } else { self.base.get(table, key) }
    }

    fn page(
        &self,
        range: &KeyRange,
        order: Order,
        count_max: usize,
    ) -> Result<Page, StorageFailure> {
        if range.is_empty() {
            return Ok(Page { rows: Vec::new(), is_last: true });
        }
        let mut sources = Vec::new();
        for number in parts_of(range) {
            for layer in self.part(number)?.layers().filter(|layer| !layer.is_empty()) {
                let source = LayerSource::new(layer, range, order, self.sequence)?;
                sources.push(Source::Layer(source));
            }
        }
        sources.push(Source::Base(self.base.rows(range, order)?, None));
        let mut page = Page::default();
        let mut bytes: usize = 0;
        while page.rows.len() < count_max && bytes < PAGE_BYTES {
            match next_row(&mut sources, order)? {
                Some((_, None)) => (),
                Some((key, Some(value))) => {
                    bytes = bytes.saturating_add(key.len()).saturating_add(value.len());
                    page.rows.push((key, value));
                }
                None => {
                    page.is_last = true;
                    break;
                }
            }
        }
        Ok(page)
    }
}

/// Sorted rows with a lookahead of one.
enum Source<'a> {
    Layer(LayerSource<'a>),
    Base(BaseRows, Option<Row>),
}

/// Reads a layer in small pieces, so that the writer waits only briefly.
struct LayerSource<'a> {
    layer: &'a Layer,
    range: &'a KeyRange,
    order: Order,
    sequence: u64,
    /// The next rows, in reverse.
    piece: Vec<LayerRow>,
    /// The last key of the piece, if the layer may have more rows behind it.
    more_behind: Option<Vec<u8>>,
}

/// Rows per read of a layer.
const PIECE_ROWS: usize = 32;

impl<'a> LayerSource<'a> {
    fn new(
        layer: &'a Layer,
        range: &'a KeyRange,
        order: Order,
        sequence: u64,
    ) -> Result<Self, StorageFailure> {
        let mut source =
            Self { layer, range, order, sequence, piece: Vec::new(), more_behind: None };
        source.read(range.bounds())?;
        Ok(source)
    }

    fn read(&mut self, bounds: (Bound<&[u8]>, Bound<&[u8]>)) -> Result<(), StorageFailure> {
        let table = self.range.table();
        let rows = self.layer.rows(table, bounds, self.order, self.sequence, PIECE_ROWS)?;
        let is_full = rows.len() == PIECE_ROWS;
        self.more_behind = rows.last().filter(|_| is_full).map(|(key, _)| key.clone());
        self.piece = rows;
        self.piece.reverse();
        Ok(())
    }

    fn peek(&mut self) -> Result<Option<&[u8]>, StorageFailure> {
        if self.piece.is_empty()
            && let Some(last) = self.more_behind.take()
        {
            let (from, to) = self.range.bounds();
            match self.order {
                Order::Ascending => self.read((Bound::Excluded(&last), to))?,
                Order::Descending => self.read((from, Bound::Excluded(&last)))?,
            }
        }
        Ok(self.piece.last().map(|(key, _)| key.as_slice()))
    }
}

impl Source<'_> {
    /// Returns the next key without consuming its row.
    fn peek(&mut self) -> Result<Option<&[u8]>, StorageFailure> {
        match self {
            Self::Layer(layer) => layer.peek(),
            Self::Base(rows, next) => {
                if next.is_none() {
                    *next = rows.next().transpose()?;
                }
                Ok(next.as_ref().map(|(key, _)| key.as_slice()))
            }
        }
    }

    fn take(&mut self) -> Option<LayerRow> {
        match self {
            Self::Layer(layer) => layer.piece.pop(),
            Self::Base(_, next) => next.take().map(|(key, value)| (key, Some(value))),
        }
    }
}

/// The next row of all sources. Sources are ordered newest first: of rows with the same key, the
/// first source's is returned and the others are skipped.
fn next_row(sources: &mut [Source<'_>], order: Order) -> Result<Option<LayerRow>, StorageFailure> {
    if let [only] = sources {
        only.peek()?;
        return Ok(only.take());
    }
    let mut first: Option<(usize, Vec<u8>)> = None;
    for (number, source) in sources.iter_mut().enumerate() {
        let Some(key) = source.peek()? else { continue };
        let is_first = first.as_ref().is_none_or(|(_, known)| {
            let compared = match order {
                Order::Ascending => key.cmp(known.as_slice()),
                Order::Descending => known.as_slice().cmp(key),
            };
            compared == Ordering::Less
        });
        if is_first {
            first = Some((number, key.to_vec()));
        }
    }
    let Some((number, key)) = first else { return Ok(None) };
    let row = sources.get_mut(number).and_then(Source::take);
    for source in sources.iter_mut().skip(number.saturating_add(1)) {
        if source.peek()?.is_some_and(|other| other == key) {
            source.take();
        }
    }
    Ok(row)
}
