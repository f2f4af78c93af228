//! `ARes`: the answer to a request for an authentication.

use uuid::Uuid;

use crate::threeds::ProtocolVersion;
use crate::threeds::codes::{
    ChallengeType, Reason, TransactionStatus, WhitelistSource, WhitelistStatus, YesNo,
};
use crate::threeds::message::{
    AcsRenderingType, AuthenticationValue, EcmaObject, Extensions, Text, message, object,
};

object! {
    Ares {
        version: ProtocolVersion = "messageVersion" V210;
        server_transaction: Uuid = "threeDSServerTransID" V210;
        acs_transaction: Uuid = "acsTransID" V210;
        ds_transaction: Uuid = "dsTransID" V210;
        sdk_transaction: Option<Uuid> = "sdkTransID" V210;
        acs_reference: Text<32> = "acsReferenceNumber" V210;
        ds_reference: Text<32> = "dsReferenceNumber" V210;
        acs_operator: Option<Text<32>> = "acsOperatorID" V210;
        status: Option<TransactionStatus> = "transStatus" V210;
        reason: Option<Reason> = "transStatusReason" V210;
        authentication_value: Option<AuthenticationValue> = "authenticationValue" V210;
        eci: Option<Text<2>> = "eci" V210;
        challenge_mandated: Option<YesNo> = "acsChallengeMandated" V210;
        challenge_type: Option<ChallengeType> = "authenticationType" V210;
        acs_url: Option<Text<2048>> = "acsURL" V210;
        acs_signed_content: Option<Text<64000>> = "acsSignedContent" V210;
        acs_rendering_type: Option<AcsRenderingType> = "acsRenderingType" V210;
        decoupled: Option<YesNo> = "acsDecConInd" V220;
        cardholder_info: Option<Text<128>> = "cardholderInfo" V210;
        broadcast: Option<EcmaObject<4096>> = "broadInfo" V210;
        whitelist_status: Option<WhitelistStatus> = "whiteListStatus" V220;
        whitelist_source: Option<WhitelistSource> = "whiteListStatusSource" V220;
        extensions: Option<Extensions> = "messageExtension" V210;
    }
}

message! { Ares = "ARes", extensions }
