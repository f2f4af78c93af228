//! `AReq`: the request for an authentication, from us to the directory server.

use uuid::Uuid;

use crate::threeds::codes::{
    AccountAge, AccountLastChanged, AccountType, Category, ChallengePreference, Channel,
    DeliveryTimeFrame, LoginMethod, MethodOutcome, PasswordLastChanged, PriorMethod,
    ShippingAddressFirstUsed, ShippingMethod, TransactionType, YesNo,
};
use crate::threeds::message::app::DeviceRenderOptions;
use crate::threeds::message::codec::Message;
use crate::threeds::message::element::object;
use crate::threeds::message::extension::Extensions;
use crate::threeds::message::values::{CardNumber, Digits, EcmaObject, Flag, Numeric, Text};
use crate::threeds::version::ProtocolVersion;

/// A requestor's own code for what is authenticated, with its version.
pub type RequestorAuthentication = Numeric<2>;

object! {
    Areq {
        version: ProtocolVersion = "messageVersion" V210;
        channel: Channel = "deviceChannel" V210;
        category: Category = "messageCategory" V210;
        server_transaction: Uuid = "threeDSServerTransID" V210;
        server_reference: Text<32> = "threeDSServerRefNumber" V210;
        server_operator: Option<Text<32>> = "threeDSServerOperatorID" V210;
        server_url: Option<Text<2048>> = "threeDSServerURL" V210;
        requestor_id: Text<35> = "threeDSRequestorID" V210;
        requestor_name: Text<40> = "threeDSRequestorName" V210;
        requestor_url: Text<2048> = "threeDSRequestorURL" V210;
        method_outcome: Option<MethodOutcome> = "threeDSCompInd" V210;
        /// With the cardholder present.
        authentication: Option<RequestorAuthentication> = "threeDSRequestorAuthenticationInd" V210;
        /// Without.
        merchant_authentication: Option<Numeric<2>> = "threeRIInd" V210;
        login: Option<LoginInfo> = "threeDSRequestorAuthenticationInfo" V210;
        prior: Option<PriorInfo> = "threeDSRequestorPriorAuthenticationInfo" V210;
        preference: Option<ChallengePreference> = "threeDSRequestorChallengeInd" V210;
        decoupled: Option<YesNo> = "threeDSRequestorDecReqInd" V220;
        decoupled_max: Option<Numeric<5>> = "threeDSRequestorDecMaxTime" V220;
        card_number: CardNumber = "acctNumber" V210;
        card_expiry: Option<Numeric<4>> = "cardExpiryDate" V210;
        account_type: Option<AccountType> = "acctType" V210;
        account_id: Option<Text<64>> = "acctID" V210;
        account: Option<AccountInfo> = "acctInfo" V210;
        acquirer_bin: Option<Text<11>> = "acquirerBIN" V210;
        acquirer_merchant: Option<Text<35>> = "acquirerMerchantID" V210;
        merchant_category: Option<Numeric<4>> = "mcc" V210;
        merchant_country: Option<Numeric<3>> = "merchantCountryCode" V210;
        merchant_name: Option<Text<40>> = "merchantName" V210;
        merchant_risk: Option<MerchantRisk> = "merchantRiskIndicator" V210;
        amount: Option<Digits<1, 48>> = "purchaseAmount" V210;
        currency: Option<Numeric<3>> = "purchaseCurrency" V210;
        exponent: Option<Numeric<1>> = "purchaseExponent" V210;
        date: Option<Numeric<14>> = "purchaseDate" V210;
        installments: Option<Digits<1, 3>> = "purchaseInstalData" V210;
        recurring_expiry: Option<Numeric<8>> = "recurringExpiry" V210;
        recurring_frequency: Option<Digits<1, 4>> = "recurringFrequency" V210;
        transaction_type: Option<TransactionType> = "transType" V210;
        cardholder_name: Option<Text<45>> = "cardholderName" V210;
        email: Option<Text<254>> = "email" V210;
        home_phone: Option<Phone> = "homePhone" V210;
        mobile_phone: Option<Phone> = "mobilePhone" V210;
        work_phone: Option<Phone> = "workPhone" V210;
        address_match: Option<YesNo> = "addrMatch" V210;
        billing_line1: Option<Text<50>> = "billAddrLine1" V210;
        billing_line2: Option<Text<50>> = "billAddrLine2" V210;
        billing_line3: Option<Text<50>> = "billAddrLine3" V210;
        billing_city: Option<Text<50>> = "billAddrCity" V210;
        billing_postal_code: Option<Text<16>> = "billAddrPostCode" V210;
        billing_state: Option<Text<3>> = "billAddrState" V210;
        billing_country: Option<Numeric<3>> = "billAddrCountry" V210;
        shipping_line1: Option<Text<50>> = "shipAddrLine1" V210;
        shipping_line2: Option<Text<50>> = "shipAddrLine2" V210;
        shipping_line3: Option<Text<50>> = "shipAddrLine3" V210;
        shipping_city: Option<Text<50>> = "shipAddrCity" V210;
        shipping_postal_code: Option<Text<16>> = "shipAddrPostCode" V210;
        shipping_state: Option<Text<3>> = "shipAddrState" V210;
        shipping_country: Option<Numeric<3>> = "shipAddrCountry" V210;
        browser_accept: Option<Text<2048>> = "browserAcceptHeader" V210;
        browser_ip: Option<Text<45>> = "browserIP" V210;
        browser_java: Option<Flag> = "browserJavaEnabled" V210;
        browser_javascript: Option<Flag> = "browserJavascriptEnabled" V220;
        browser_language: Option<Text<8>> = "browserLanguage" V210;
        browser_color_depth: Option<Digits<1, 2>> = "browserColorDepth" V210;
        browser_screen_height: Option<Digits<1, 6>> = "browserScreenHeight" V210;
        browser_screen_width: Option<Digits<1, 6>> = "browserScreenWidth" V210;
        browser_tz: Option<Text<5>> = "browserTZ" V210;
        browser_user_agent: Option<Text<2048>> = "browserUserAgent" V210;
        notification_url: Option<Text<256>> = "notificationURL" V210;
        sdk_render_options: Option<DeviceRenderOptions> = "deviceRenderOptions" V210;
        sdk_application: Option<Uuid> = "sdkAppID" V210;
        sdk_transaction: Option<Uuid> = "sdkTransID" V210;
        sdk_reference: Option<Text<32>> = "sdkReferenceNumber" V210;
        sdk_max_timeout: Option<Numeric<2>> = "sdkMaxTimeout" V210;
        sdk_encrypted: Option<Text<64000>> = "sdkEncData" V210;
        sdk_public_key: Option<EcmaObject<256>> = "sdkEphemPubKey" V210;
        broadcast: Option<EcmaObject<4096>> = "broadInfo" V210;
        extensions: Option<Extensions> = "messageExtension" V210;
    }
}

object! {
    LoginInfo {
        method: Option<LoginMethod> = "threeDSReqAuthMethod" V210;
        timestamp: Option<Numeric<12>> = "threeDSReqAuthTimestamp" V210;
        data: Option<Text<20000>> = "threeDSReqAuthData" V210;
    }
}

object! {
    PriorInfo {
        method: Option<PriorMethod> = "threeDSReqPriorAuthMethod" V210;
        timestamp: Option<Numeric<12>> = "threeDSReqPriorAuthTimestamp" V210;
        reference: Option<Uuid> = "threeDSReqPriorRef" V210;
        data: Option<Text<2048>> = "threeDSReqPriorAuthData" V210;
    }
}

object! {
    Phone {
        country: Digits<1, 3> = "cc" V210;
        number: Digits<1, 15> = "subscriber" V210;
    }
}

object! {
    AccountInfo {
        age: Option<AccountAge> = "chAccAgeInd" V210;
        changed_date: Option<Numeric<8>> = "chAccChange" V210;
        changed: Option<AccountLastChanged> = "chAccChangeInd" V210;
        created_date: Option<Numeric<8>> = "chAccDate" V210;
        password_date: Option<Numeric<8>> = "chAccPwChange" V210;
        password: Option<PasswordLastChanged> = "chAccPwChangeInd" V210;
        purchases_half_year: Option<Digits<1, 4>> = "nbPurchaseAccount" V210;
        transactions_day: Option<Digits<1, 3>> = "txnActivityDay" V210;
        transactions_year: Option<Digits<1, 3>> = "txnActivityYear" V210;
        payment_date: Option<Numeric<8>> = "paymentAccAge" V210;
        payment: Option<AccountAge> = "paymentAccInd" V210;
        shipping_date: Option<Numeric<8>> = "shipAddressUsage" V210;
        shipping: Option<ShippingAddressFirstUsed> = "shipAddressUsageInd" V210;
        shipping_name: Option<Numeric<2>> = "shipNameIndicator" V210;
        suspicious: Option<Numeric<2>> = "suspiciousAccActivity" V210;
    }
}

object! {
    MerchantRisk {
        delivery_email: Option<Text<254>> = "deliveryEmailAddress" V210;
        delivery: Option<DeliveryTimeFrame> = "deliveryTimeframe" V210;
        gift_card_amount: Option<Digits<1, 15>> = "giftCardAmount" V210;
        gift_card_count: Option<Numeric<2>> = "giftCardCount" V210;
        gift_card_currency: Option<Numeric<3>> = "giftCardCurr" V210;
        pre_order_date: Option<Numeric<8>> = "preOrderDate" V210;
        pre_order: Option<Numeric<2>> = "preOrderPurchaseInd" V210;
        reordered: Option<Numeric<2>> = "reorderItemsInd" V210;
        shipping: Option<ShippingMethod> = "shipIndicator" V210;
    }
}

impl Areq {
    /// With nothing but what tells one request from another.
    #[expect(clippy::too_many_lines, reason = "one line an element, and none decides anything")]
    pub fn new(
        version: ProtocolVersion,
        channel: Channel,
        category: Category,
        server_transaction: Uuid,
        card_number: CardNumber,
    ) -> Self {
        Self {
            version,
            channel,
            category,
            server_transaction,
            server_reference: Text::cut(""),
            server_operator: None,
            server_url: None,
            requestor_id: Text::cut(""),
            requestor_name: Text::cut(""),
            requestor_url: Text::cut(""),
            method_outcome: None,
            authentication: None,
            merchant_authentication: None,
            login: None,
            prior: None,
            preference: None,
            decoupled: None,
            decoupled_max: None,
            card_number,
            card_expiry: None,
            account_type: None,
            account_id: None,
            account: None,
            acquirer_bin: None,
            acquirer_merchant: None,
            merchant_category: None,
            merchant_country: None,
            merchant_name: None,
            merchant_risk: None,
            amount: None,
            currency: None,
            exponent: None,
            date: None,
            installments: None,
            recurring_expiry: None,
            recurring_frequency: None,
            transaction_type: None,
            cardholder_name: None,
            email: None,
            home_phone: None,
            mobile_phone: None,
            work_phone: None,
            address_match: None,
            billing_line1: None,
            billing_line2: None,
            billing_line3: None,
            billing_city: None,
            billing_postal_code: None,
            billing_state: None,
            billing_country: None,
            shipping_line1: None,
            shipping_line2: None,
            shipping_line3: None,
            shipping_city: None,
            shipping_postal_code: None,
            shipping_state: None,
            shipping_country: None,
            browser_accept: None,
            browser_ip: None,
            browser_java: None,
            browser_javascript: None,
            browser_language: None,
            browser_color_depth: None,
            browser_screen_height: None,
            browser_screen_width: None,
            browser_tz: None,
            browser_user_agent: None,
            notification_url: None,
            sdk_render_options: None,
            sdk_application: None,
            sdk_transaction: None,
            sdk_reference: None,
            sdk_max_timeout: None,
            sdk_encrypted: None,
            sdk_public_key: None,
            broadcast: None,
            extensions: None,
        }
    }
}

impl Message for Areq {
    const TYPE: &'static str = "AReq";

    fn version(&self) -> ProtocolVersion {
        self.version
    }

    fn extensions(&self) -> Option<&Extensions> {
        self.extensions.as_ref()
    }
}
