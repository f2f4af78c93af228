//! The parts of a 3DS session's record.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::store::record::encoding::BadRecord;
use crate::store::record::threeds::read;
use crate::threeds::codes::{
    AcsInformation, CancelReason, Category, ChallengePreference, ChallengeType, Channel, Reason,
    TransactionStatus, WhitelistSource, WhitelistStatus, YesNo,
};
use crate::threeds::session::{
    AreqSummary, Authentication, DeviceInfo, Enrolment, ReturnedExtension,
};
use crate::threeds::version::NamedVersion;
use crate::threeds::version::ProtocolVersion::{self, V220};

#[derive(Serialize, Deserialize)]
pub(super) struct DeviceV1 {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    browser_accept_header: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    browser_ip: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    browser_javascript_enabled: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    browser_java_enabled: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    browser_language: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    browser_color_depth: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    browser_screen_height: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    browser_screen_width: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    browser_tz: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    browser_user_agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sdk_transaction_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sdk_application_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sdk_encryption_data: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sdk_ephemeral_public_key: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sdk_max_timeout: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sdk_reference_number: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sdk_interface: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sdk_ui_types: Option<Vec<String>>,
}

impl DeviceV1 {
    pub(super) fn of(device: &DeviceInfo) -> Self {
        let device = device.clone();
        Self {
            browser_accept_header: device.browser_accept_header,
            browser_ip: device.browser_ip,
            browser_javascript_enabled: device.browser_javascript_enabled,
            browser_java_enabled: device.browser_java_enabled,
            browser_language: device.browser_language,
            browser_color_depth: device.browser_color_depth,
            browser_screen_height: device.browser_screen_height,
            browser_screen_width: device.browser_screen_width,
            browser_tz: device.browser_tz,
            browser_user_agent: device.browser_user_agent,
            sdk_transaction_id: device.sdk_transaction_id,
            sdk_application_id: device.sdk_application_id,
            sdk_encryption_data: device.sdk_encryption_data,
            sdk_ephemeral_public_key: device.sdk_ephemeral_public_key,
            sdk_max_timeout: device.sdk_max_timeout,
            sdk_reference_number: device.sdk_reference_number,
            sdk_interface: device.sdk_interface,
            sdk_ui_types: device.sdk_ui_types,
        }
    }

    pub(super) fn read(self) -> DeviceInfo {
        DeviceInfo {
            browser_accept_header: self.browser_accept_header,
            browser_ip: self.browser_ip,
            browser_javascript_enabled: self.browser_javascript_enabled,
            browser_java_enabled: self.browser_java_enabled,
            browser_language: self.browser_language,
            browser_color_depth: self.browser_color_depth,
            browser_screen_height: self.browser_screen_height,
            browser_screen_width: self.browser_screen_width,
            browser_tz: self.browser_tz,
            browser_user_agent: self.browser_user_agent,
            sdk_transaction_id: self.sdk_transaction_id,
            sdk_application_id: self.sdk_application_id,
            sdk_encryption_data: self.sdk_encryption_data,
            sdk_ephemeral_public_key: self.sdk_ephemeral_public_key,
            sdk_max_timeout: self.sdk_max_timeout,
            sdk_reference_number: self.sdk_reference_number,
            sdk_interface: self.sdk_interface,
            sdk_ui_types: self.sdk_ui_types,
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct EnrolmentV1 {
    directory_server: String,
    acs_start: String,
    acs_end: String,
    ds_start: String,
    ds_end: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    method_url: Option<String>,
    acs_information: Vec<String>,
}

impl EnrolmentV1 {
    pub(super) fn of(enrolment: &Enrolment) -> Self {
        let codes = enrolment.acs_information.iter();
        Self {
            directory_server: enrolment.directory_server.clone(),
            acs_start: enrolment.acs_start.to_string(),
            acs_end: enrolment.acs_end.to_string(),
            ds_start: enrolment.ds_start.to_string(),
            ds_end: enrolment.ds_end.to_string(),
            method_url: enrolment.method_url.clone(),
            acs_information: codes.map(|it| String::from(it.code())).collect(),
        }
    }

    pub(super) fn read(self) -> Option<Enrolment> {
        let codes = self.acs_information.iter();
        let known = |code: &String| AcsInformation::from_code(code, V220);
        Some(Enrolment {
            directory_server: self.directory_server,
            acs_start: NamedVersion::parse(&self.acs_start)?,
            acs_end: NamedVersion::parse(&self.acs_end)?,
            ds_start: NamedVersion::parse(&self.ds_start)?,
            ds_end: NamedVersion::parse(&self.ds_end)?,
            method_url: self.method_url,
            acs_information: codes.map(known).collect::<Option<_>>()?,
        })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct SentV1 {
    version: String,
    channel: String,
    category: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preference: Option<String>,
    decoupled: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sdk_transaction: Option<Uuid>,
}

impl SentV1 {
    pub(super) fn of(sent: &AreqSummary) -> Self {
        Self {
            version: String::from(sent.version.as_str()),
            channel: String::from(sent.channel.code()),
            category: String::from(sent.category.code()),
            preference: sent.preference.map(|it| String::from(it.code())),
            decoupled: String::from(sent.decoupled.code()),
            sdk_transaction: sent.sdk_transaction,
        }
    }

    pub(super) fn read(&self) -> Option<AreqSummary> {
        Some(AreqSummary {
            version: ProtocolVersion::parse(&self.version)?,
            channel: Channel::from_code(&self.channel, V220)?,
            category: Category::from_code(&self.category, V220)?,
            preference: coded(self.preference.as_deref(), ChallengePreference::from_code).ok()?,
            decoupled: YesNo::from_code(&self.decoupled, V220)?,
            sdk_transaction: self.sdk_transaction,
        })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct AuthenticationV1 {
    version: String,
    acs_transaction: Uuid,
    ds_transaction: Uuid,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sdk_transaction: Option<Uuid>,
    acs_reference: String,
    ds_reference: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    acs_operator: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    status: String,
    directory_status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    eci: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    challenge_mandated: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    challenge_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    acs_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    acs_signed_content: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    acs_rendering_type: Option<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decoupled: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preference: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attempts: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cancel: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cardholder_info: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    whitelist_status: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    whitelist_source: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    extensions: Vec<ExtensionV1>,
}

#[derive(Serialize, Deserialize)]
struct ExtensionV1 {
    id: String,
    name: String,
    critical: bool,
    data: Value,
}

impl AuthenticationV1 {
    pub(super) fn of(found: &Authentication) -> Self {
        let found = found.clone();
        let extension = |it: ReturnedExtension| ExtensionV1 {
            id: it.id,
            name: it.name,
            critical: it.critical,
            data: it.data,
        };
        Self {
            version: String::from(found.version.as_str()),
            acs_transaction: found.acs_transaction,
            ds_transaction: found.ds_transaction,
            sdk_transaction: found.sdk_transaction,
            acs_reference: found.acs_reference,
            ds_reference: found.ds_reference,
            acs_operator: found.acs_operator,
            value: found.value,
            status: String::from(found.status.code()),
            directory_status: String::from(found.directory_status.code()),
            reason: found.reason.map(Reason::code),
            eci: found.eci,
            challenge_mandated: found.challenge_mandated.map(|it| String::from(it.code())),
            challenge_type: found.challenge_type.map(|it| String::from(it.code())),
            acs_url: found.acs_url,
            acs_signed_content: found.acs_signed_content,
            acs_rendering_type: found.acs_rendering_type,
            decoupled: found.decoupled.map(|it| String::from(it.code())),
            preference: found.preference.map(|it| String::from(it.code())),
            attempts: found.attempts,
            cancel: found.cancel.map(|it| String::from(it.code())),
            cardholder_info: found.cardholder_info,
            whitelist_status: found.whitelist_status.map(|it| String::from(it.code())),
            whitelist_source: found.whitelist_source.map(|it| String::from(it.code())),
            extensions: found.extensions.into_iter().map(extension).collect(),
        }
    }

    pub(super) fn read(self) -> Option<Authentication> {
        let extension = |it: ExtensionV1| ReturnedExtension {
            id: it.id,
            name: it.name,
            critical: it.critical,
            data: it.data,
        };
        Some(Authentication {
            version: ProtocolVersion::parse(&self.version)?,
            acs_transaction: self.acs_transaction,
            ds_transaction: self.ds_transaction,
            sdk_transaction: self.sdk_transaction,
            acs_reference: self.acs_reference,
            ds_reference: self.ds_reference,
            acs_operator: self.acs_operator,
            value: self.value,
            status: TransactionStatus::from_code(&self.status, V220)?,
            directory_status: TransactionStatus::from_code(&self.directory_status, V220)?,
            reason: coded(self.reason.as_deref(), Reason::from_code).ok()?,
            eci: self.eci,
            challenge_mandated: coded(self.challenge_mandated.as_deref(), YesNo::from_code).ok()?,
            challenge_type: coded(self.challenge_type.as_deref(), ChallengeType::from_code).ok()?,
            acs_url: self.acs_url,
            acs_signed_content: self.acs_signed_content,
            acs_rendering_type: self.acs_rendering_type,
            decoupled: coded(self.decoupled.as_deref(), YesNo::from_code).ok()?,
            preference: coded(self.preference.as_deref(), ChallengePreference::from_code).ok()?,
            attempts: self.attempts,
            cancel: coded(self.cancel.as_deref(), CancelReason::from_code).ok()?,
            cardholder_info: self.cardholder_info,
            whitelist_status: coded(self.whitelist_status.as_deref(), WhitelistStatus::from_code)
                .ok()?,
            whitelist_source: coded(self.whitelist_source.as_deref(), WhitelistSource::from_code)
                .ok()?,
            extensions: self.extensions.into_iter().map(extension).collect(),
        })
    }
}

/// Reads a code as the newest protocol version defines it.
fn coded<T>(
    code: Option<&str>,
    from_code: fn(&str, ProtocolVersion) -> Option<T>,
) -> Result<Option<T>, BadRecord> {
    read(code, |code| from_code(code, V220))
}
