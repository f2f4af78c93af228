//! `AReq`: the request for an authentication, from us to the directory server.

use uuid::Uuid;

use crate::threeds::ProtocolVersion;
use crate::threeds::codes::{
    AccountAge, AccountLastChanged, AccountType, Category, ChallengePreference, Channel,
    DeliveryTimeFrame, LoginMethod, MethodOutcome, PasswordLastChanged, PriorMethod,
    ShippingAddressFirstUsed, ShippingMethod, TransactionType, YesNo,
};
use crate::threeds::message::{
    CardNumber, DeviceRenderOptions, Digits, EcmaObject, Extensions, Flag, Numeric, Text, message,
    object, optional,
};

/// The requestor's code for the purpose of the authentication.
pub type RequestorAuthentication = Numeric<2>;

object! {
    Areq {
        version: ProtocolVersion = "messageVersion" V210;
        channel: Channel = "deviceChannel" V210;
        category: Category = "messageCategory" V210;
        server_transaction: Uuid = "threeDSServerTransID" V210;
        server_reference: Text<32> = "threeDSServerRefNumber" V210;
        requestor_id: Text<35> = "threeDSRequestorID" V210;
        requestor_name: Text<40> = "threeDSRequestorName" V210;
        requestor_url: Text<2048> = "threeDSRequestorURL" V210;
        card_number: CardNumber = "acctNumber" V210;
        options: AreqOptions = "" V210;
        extensions: Option<Extensions> = "messageExtension" V210;
    }
}

optional! {
    AreqOptions {
        server_operator: Text<32> = "threeDSServerOperatorID" V210;
        server_url: Text<2048> = "threeDSServerURL" V210;
        method_outcome: MethodOutcome = "threeDSCompInd" V210;
        /// The purpose, with the cardholder present.
        authentication: RequestorAuthentication = "threeDSRequestorAuthenticationInd" V210;
        /// The purpose, without the cardholder ("3RI").
        merchant_authentication: Numeric<2> = "threeRIInd" V210;
        login: LoginInfo = "threeDSRequestorAuthenticationInfo" V210;
        prior: PriorInfo = "threeDSRequestorPriorAuthenticationInfo" V210;
        preference: ChallengePreference = "threeDSRequestorChallengeInd" V210;
        decoupled: YesNo = "threeDSRequestorDecReqInd" V220;
        decoupled_max: Numeric<5> = "threeDSRequestorDecMaxTime" V220;
        card_expiry: Numeric<4> = "cardExpiryDate" V210;
        account_type: AccountType = "acctType" V210;
        account_id: Text<64> = "acctID" V210;
        account: AccountInfo = "acctInfo" V210;
        acquirer_bin: Text<11> = "acquirerBIN" V210;
        acquirer_merchant: Text<35> = "acquirerMerchantID" V210;
        merchant_category: Numeric<4> = "mcc" V210;
        merchant_country: Numeric<3> = "merchantCountryCode" V210;
        merchant_name: Text<40> = "merchantName" V210;
        merchant_risk: MerchantRisk = "merchantRiskIndicator" V210;
        amount: Digits<1, 48> = "purchaseAmount" V210;
        currency: Numeric<3> = "purchaseCurrency" V210;
        exponent: Numeric<1> = "purchaseExponent" V210;
        date: Numeric<14> = "purchaseDate" V210;
        installments: Digits<1, 3> = "purchaseInstalData" V210;
        recurring_expiry: Numeric<8> = "recurringExpiry" V210;
        recurring_frequency: Digits<1, 4> = "recurringFrequency" V210;
        transaction_type: TransactionType = "transType" V210;
        cardholder_name: Text<45> = "cardholderName" V210;
        email: Text<254> = "email" V210;
        home_phone: Phone = "homePhone" V210;
        mobile_phone: Phone = "mobilePhone" V210;
        work_phone: Phone = "workPhone" V210;
        address_match: YesNo = "addrMatch" V210;
        billing_line1: Text<50> = "billAddrLine1" V210;
        billing_line2: Text<50> = "billAddrLine2" V210;
        billing_line3: Text<50> = "billAddrLine3" V210;
        billing_city: Text<50> = "billAddrCity" V210;
        billing_postal_code: Text<16> = "billAddrPostCode" V210;
        billing_state: Text<3> = "billAddrState" V210;
        billing_country: Numeric<3> = "billAddrCountry" V210;
        shipping_line1: Text<50> = "shipAddrLine1" V210;
        shipping_line2: Text<50> = "shipAddrLine2" V210;
        shipping_line3: Text<50> = "shipAddrLine3" V210;
        shipping_city: Text<50> = "shipAddrCity" V210;
        shipping_postal_code: Text<16> = "shipAddrPostCode" V210;
        shipping_state: Text<3> = "shipAddrState" V210;
        shipping_country: Numeric<3> = "shipAddrCountry" V210;
        browser_accept: Text<2048> = "browserAcceptHeader" V210;
        browser_ip: Text<45> = "browserIP" V210;
        browser_java: Flag = "browserJavaEnabled" V210;
        browser_javascript: Flag = "browserJavascriptEnabled" V220;
        browser_language: Text<8> = "browserLanguage" V210;
        browser_color_depth: Digits<1, 2> = "browserColorDepth" V210;
        browser_screen_height: Digits<1, 6> = "browserScreenHeight" V210;
        browser_screen_width: Digits<1, 6> = "browserScreenWidth" V210;
        browser_tz: Text<5> = "browserTZ" V210;
        browser_user_agent: Text<2048> = "browserUserAgent" V210;
        notification_url: Text<256> = "notificationURL" V210;
        sdk_render_options: DeviceRenderOptions = "deviceRenderOptions" V210;
        sdk_application: Uuid = "sdkAppID" V210;
        sdk_transaction: Uuid = "sdkTransID" V210;
        sdk_reference: Text<32> = "sdkReferenceNumber" V210;
        sdk_max_timeout: Numeric<2> = "sdkMaxTimeout" V210;
        sdk_encrypted: Text<64000> = "sdkEncData" V210;
        sdk_public_key: EcmaObject<256> = "sdkEphemPubKey" V210;
        broadcast: EcmaObject<4096> = "broadInfo" V210;
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

message! { Areq = "AReq", extensions }

#[cfg(test)]
impl Areq {
    pub(crate) fn sample(
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
            server_reference: Text::cut("REF"),
            requestor_id: Text::cut("ID"),
            requestor_name: Text::cut("Name"),
            requestor_url: Text::cut("https://shop.example"),
            card_number,
            options: AreqOptions::default(),
            extensions: None,
        }
    }
}
