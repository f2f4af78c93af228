//! The catalog's source, `catalog.toml`: its parser, which names the entry of each mistake, and the
//! formulas with their names on the wire.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use super::codes::{Code, Country, Currency};

/// The number of formulas in the published interface.
pub(super) const FORMULAS: usize = 18;

/// The country set that stands for all of ISO 3166-1; the file itself cannot define it.
const WORLD: &str = "world";

/// Mistakes in the source.
#[derive(Debug)]
pub(super) enum CatalogError {
    /// The number of formulas differs from the published interface.
    Count { found: usize },
    /// A mistake in a formula or a set of codes.
    Entry { entry: String, fault: Fault },
    /// The file is not TOML of the expected form.
    Unreadable,
}

/// A mistake in one entry. Positions count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    DuplicateField {
        at: usize,
    },
    /// The id does not come after the one before it.
    IdOrder,
    /// The id is not `<processor>-card`.
    IdShape,
    NoCodes,
    NoFields,
    NotExactlyOneList,
    /// Not in alphabetical order, or a duplicate.
    OutOfOrder {
        at: usize,
    },
    ReservedSet,
    UnknownCode {
        at: usize,
    },
    UnknownSet,
    Unnamed,
    UnnamedField {
        at: usize,
    },
    UnusedSet,
}

/// A managed connection to one processor, with the member names of the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Formula {
    pub(super) id: String,
    pub(super) display_name: String,
    pub(super) method: Method,
    pub(super) fields: Vec<Field>,
    pub(super) supported_currencies: Vec<Currency>,
    pub(super) supported_countries: Vec<Country>,
    pub(super) supported_features: Features,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Method {
    Card,
}

/// One configuration value of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Field {
    pub(super) key: String,
    pub(super) display_name: String,
    pub(super) required: bool,
    pub(super) format: Format,
    pub(super) secret: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Format {
    Text,
}

/// The features of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the interface has seven independent flags")]
pub(super) struct Features {
    pub(super) three_d_secure_pass_through: bool,
    pub(super) delayed_capture: bool,
    pub(super) partial_capture: bool,
    pub(super) partial_refunds: bool,
    pub(super) refunds: bool,
    pub(super) zero_auth: bool,
    pub(super) void: bool,
}

pub(super) fn parse(text: &str) -> Result<Vec<Formula>, CatalogError> {
    let file: File = toml::from_str(text).or(Err(CatalogError::Unreadable))?;
    let mut currency_sets = Sets::read("currency set", &file.currency_sets)?;
    let mut country_sets = Sets::read("country set", &file.country_sets)?;
    country_sets.define_world()?;
    let mut formulas: Vec<Formula> = Vec::with_capacity(file.formula.len());
    for entry in file.formula {
        let id = entry.id.clone();
        let named = |fault| CatalogError::Entry { entry: id.clone(), fault };
        if formulas.last().is_some_and(|last| last.id >= entry.id) {
            return Err(named(Fault::IdOrder));
        }
        let formula = entry.check(&mut currency_sets, &mut country_sets).map_err(named)?;
        formulas.push(formula);
    }
    currency_sets.all_used()?;
    country_sets.all_used()?;
    match formulas.len() {
        FORMULAS => Ok(formulas),
        found => Err(CatalogError::Count { found }),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    currency_sets: BTreeMap<String, String>,
    country_sets: BTreeMap<String, String>,
    formula: Vec<FileFormula>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileFormula {
    id: String,
    display_name: String,
    method: Method,
    fields: Vec<FileField>,
    #[serde(default)]
    lacks: BTreeSet<Feature>,
    currencies: Option<String>,
    currency_set: Option<String>,
    countries: Option<String>,
    country_set: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileField {
    key: String,
    display_name: String,
    #[serde(default)]
    optional: bool,
    #[serde(default)]
    secret: bool,
}

#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
enum Feature {
    DelayedCapture,
    PartialCapture,
    PartialRefunds,
    Refunds,
    ThreeDSecurePassThrough,
    Void,
    ZeroAuth,
}

impl FileFormula {
    fn check(
        self,
        currency_sets: &mut Sets<Currency>,
        country_sets: &mut Sets<Country>,
    ) -> Result<Formula, Fault> {
        check_id(&self.id)?;
        if self.display_name.is_empty() {
            return Err(Fault::Unnamed);
        }
        let has = |feature| !self.lacks.contains(&feature);
        Ok(Formula {
            supported_features: Features {
                three_d_secure_pass_through: has(Feature::ThreeDSecurePassThrough),
                delayed_capture: has(Feature::DelayedCapture),
                partial_capture: has(Feature::PartialCapture),
                partial_refunds: has(Feature::PartialRefunds),
                refunds: has(Feature::Refunds),
                zero_auth: has(Feature::ZeroAuth),
                void: has(Feature::Void),
            },
            method: self.method,
            fields: check_fields(self.fields)?,
            supported_currencies: currency_sets.choose(self.currencies, self.currency_set)?,
            supported_countries: country_sets.choose(self.countries, self.country_set)?,
            id: self.id,
            display_name: self.display_name,
        })
    }
}

/// `<processor>-card`, in lower case letters and digits.
fn check_id(id: &str) -> Result<(), Fault> {
    let processor = id.strip_suffix("-card").unwrap_or_default();
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if !processor.is_empty() && processor.bytes().all(is_plain) {
        Ok(())
    } else {
        Err(Fault::IdShape)
    }
}

fn check_fields(fields: Vec<FileField>) -> Result<Vec<Field>, Fault> {
    if fields.is_empty() {
        return Err(Fault::NoFields);
    }
    let mut checked: Vec<Field> = Vec::with_capacity(fields.len());
    for (field, at) in fields.into_iter().zip(1..) {
        if field.key.is_empty() || field.display_name.is_empty() {
            return Err(Fault::UnnamedField { at });
        }
        if checked.iter().any(|earlier| earlier.key == field.key) {
            return Err(Fault::DuplicateField { at });
        }
        checked.push(Field {
            key: field.key,
            display_name: field.display_name,
            required: !field.optional,
            format: Format::Text,
            secret: field.secret,
        });
    }
    Ok(checked)
}

/// The named lists of codes, each with a flag: some formula uses it.
struct Sets<C> {
    kind: &'static str,
    by_name: BTreeMap<String, Set<C>>,
}

struct Set<C> {
    codes: Vec<C>,
    used: bool,
}

impl<C: Code> Sets<C> {
    fn read(kind: &'static str, lists: &BTreeMap<String, String>) -> Result<Self, CatalogError> {
        let mut sets = Self { kind, by_name: BTreeMap::new() };
        for (name, list) in lists {
            let codes = check_codes(list).map_err(|fault| sets.error(name, fault))?;
            sets.by_name.insert(name.clone(), Set { codes, used: false });
        }
        Ok(sets)
    }

    /// A formula lists its codes itself or names a set, never both.
    fn choose(&mut self, list: Option<String>, name: Option<String>) -> Result<Vec<C>, Fault> {
        match (list, name) {
            (Some(list), None) => check_codes(&list),
            (None, Some(name)) => {
                let set = self.by_name.get_mut(&name).ok_or(Fault::UnknownSet)?;
                set.used = true;
                Ok(set.codes.clone())
            }
            (Some(_), Some(_)) | (None, None) => Err(Fault::NotExactlyOneList),
        }
    }

    fn all_used(&self) -> Result<(), CatalogError> {
        match self.by_name.iter().find(|(_, set)| !set.used) {
            Some((name, _)) => Err(self.error(name, Fault::UnusedSet)),
            None => Ok(()),
        }
    }

    fn error(&self, name: &str, fault: Fault) -> CatalogError {
        CatalogError::Entry { entry: format!("{} {name}", self.kind), fault }
    }
}

impl Sets<Country> {
    fn define_world(&mut self) -> Result<(), CatalogError> {
        let world = Set { codes: Country::world(), used: true };
        match self.by_name.insert(WORLD.to_owned(), world) {
            Some(_) => Err(self.error(WORLD, Fault::ReservedSet)),
            None => Ok(()),
        }
    }
}

/// Codes in alphabetical order, each once.
fn check_codes<C: Code>(list: &str) -> Result<Vec<C>, Fault> {
    let mut codes: Vec<C> = Vec::new();
    for (code, at) in list.split_ascii_whitespace().zip(1..) {
        let code = C::find(code).ok_or(Fault::UnknownCode { at })?;
        if codes.last().is_some_and(|last| *last >= code) {
            return Err(Fault::OutOfOrder { at });
        }
        codes.push(code);
    }
    if codes.is_empty() { Err(Fault::NoCodes) } else { Ok(codes) }
}

/// The wire has two names for the flag `void`.
impl Serialize for Features {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut flags = serializer.serialize_struct("Features", 8)?;
        flags.serialize_field("three_d_secure_pass_through", &self.three_d_secure_pass_through)?;
        flags.serialize_field("delayed_capture", &self.delayed_capture)?;
        flags.serialize_field("partial_capture", &self.partial_capture)?;
        flags.serialize_field("partial_refunds", &self.partial_refunds)?;
        flags.serialize_field("refunds", &self.refunds)?;
        flags.serialize_field("zero_auth", &self.zero_auth)?;
        flags.serialize_field("void", &self.void)?;
        flags.serialize_field("voidAllowed", &self.void)?;
        flags.end()
    }
}

impl fmt::Display for CatalogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { found } => {
                write!(f, "the connection catalog has {found} formulas instead of {FORMULAS}")
            }
            Self::Entry { entry, fault } => write!(f, "connection catalog, {entry}: {fault}"),
            Self::Unreadable => f.write_str("the connection catalog cannot be read"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateField { at } => write!(f, "field {at} has the key of another"),
            Self::IdOrder => f.write_str("the id does not come after the one before it"),
            Self::IdShape => f.write_str("the id is not of the form <processor>-card"),
            Self::NoCodes => f.write_str("a list of codes is empty"),
            Self::NoFields => f.write_str("there are no fields"),
            Self::NotExactlyOneList => {
                f.write_str("currencies and countries are either listed or a set, one of the two")
            }
            Self::OutOfOrder { at } => write!(f, "code {at} is out of order or there twice"),
            Self::ReservedSet => f.write_str("this name stands for all countries"),
            Self::UnknownCode { at } => write!(f, "code {at} is not in the standard's list"),
            Self::UnknownSet => f.write_str("it names a set that does not exist"),
            Self::Unnamed => f.write_str("the display name is empty"),
            Self::UnnamedField { at } => write!(f, "field {at} has no key or no display name"),
            Self::UnusedSet => f.write_str("no formula names this set"),
        }
    }
}
