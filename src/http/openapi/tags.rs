//! The tags of the document, in the order in which the reference shows them. The description of a
//! tag is a chapter of the manual, or a sentence if there is no chapter.

macro_rules! tags {
    ($($group:ident { $($tag:ident $name:literal $text:expr;)+ })+) => {
        /// A chapter of the reference, with the operations that belong to it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Tag { $($($tag),+),+ }

        impl Tag {
            pub(super) const ALL: &[Self] = &[$($(Self::$tag),+),+];

            pub(super) const fn name(self) -> &'static str {
                match self { $($(Self::$tag => $name),+),+ }
            }

            /// The title above it in the navigation.
            pub(super) const fn group(self) -> &'static str {
                match self { $($(Self::$tag)|+ => stringify!($group)),+ }
            }

            /// Markdown.
            pub(super) const fn text(self) -> &'static str {
                match self { $($(Self::$tag => $text),+),+ }
            }
        }
    };
}

macro_rules! chapter {
    ($file:literal) => {
        include_str!(concat!("../front/chapters/", $file))
    };
}

tags! {
    Start {
        Moving "Coming from Basis Theory" chapter!("coming-from-basis-theory.md");
        Requests "Requests and answers" chapter!("requests.md");
        Errors "Errors" chapter!("errors.md");
        RateLimits "Rate limits" chapter!("rate-limits.md");
        Idempotency "Idempotency keys" chapter!("idempotency.md");
    }
    Guides {
        Providers "Payment providers" chapter!("payment-providers.md");
        Fields "Hosted card fields" chapter!("card-fields.md");
        Elements "Elements" chapter!("elements.md");
        Expressions "Expressions and masks" chapter!("expressions.md");
        Promises "What you can rely on" chapter!("promises.md");
        Security "Security model" chapter!("security.md");
    }
    API {
        Interface "Operations" chapter!("operations.md");
        Tokens "Tokens" chapter!("tokens.md");
        TokenIntents "Token intents" chapter!("token-intents.md");
        Proxies "Proxies" chapter!("proxies.md");
        PreconfiguredProxies "Pre-configured proxies" chapter!("preconfigured-proxies.md");
        Programs "Programs" chapter!("programs.md");
        Sessions "Sessions" chapter!("sessions.md");
        ClientKeys "Client encryption keys" chapter!("client-keys.md");
        Threeds "3-D Secure" chapter!("threeds.md");
        Webhooks "Webhooks" chapter!("webhooks.md");
        Applications "Applications, keys and rules" chapter!("applications.md");
        Tenant "Tenants" chapter!("tenants.md");
        Logs "Logs" chapter!("logs.md");
        Enrichments "Enrichments" chapter!("enrichments.md");
        Connections "Connection formulas" "The catalog of payment providers and methods: the credentials \
            that a connection to each of them needs, its currencies, countries and features. A program can show it \
            when a person enters the credentials of a provider. This server has no payment connections of its own: \
            store the credentials as tokens, and call the provider through a proxy, as the chapter \
            [Payment providers](payment-providers.md) shows.";
        Deprecated "Deprecated and missing parts" chapter!("deprecated.md");
    }
    Operate {
        Console "Console" chapter!("console.md");
        Responsibilities "PCI DSS responsibilities" chapter!("responsibilities.md");
        Health "Health and files" "Probes for load balancers, and files that browsers load. None of \
            them needs a key.";
    }
}
