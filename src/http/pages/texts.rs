//! The texts of the pages in each language. A missing text does not compile.

use crate::http::pages::language::Language;

#[derive(Debug)]
pub(super) struct Texts {
    pub(super) language: Language,
    pub(super) bank: &'static str,
    /// The heading when there is a purchase.
    pub(super) confirm_payment: &'static str,
    /// The heading when there is no amount.
    pub(super) confirm_identity: &'static str,
    pub(super) merchant: &'static str,
    pub(super) amount: &'static str,
    pub(super) card: &'static str,
    /// Stands before the last four digits, for screen readers.
    pub(super) card_ending_in: &'static str,
    pub(super) enter_code: &'static str,
    /// Stands before the code.
    pub(super) test_code: &'static str,
    pub(super) code: &'static str,
    pub(super) confirm: &'static str,
    pub(super) wrong_code: &'static str,
    pub(super) wrong_code_last_try: &'static str,
    pub(super) approve_in_app: &'static str,
    pub(super) test_app: &'static str,
    pub(super) not_approved: &'static str,
    pub(super) approved: &'static str,
    pub(super) cancel: &'static str,
    pub(super) next: &'static str,
    pub(super) failure: FailureTexts,
}

/// The page of a request that failed.
#[derive(Debug)]
pub(super) struct FailureTexts {
    pub(super) heading: &'static str,
    pub(super) unknown: &'static str,
    pub(super) busy: &'static str,
    pub(super) refused: &'static str,
    pub(super) internal: &'static str,
}

impl Language {
    pub(super) const fn texts(self) -> &'static Texts {
        match self {
            Self::English => &ENGLISH,
            Self::German => &GERMAN,
            Self::French => &FRENCH,
            Self::Spanish => &SPANISH,
        }
    }
}

impl FailureTexts {
    pub(super) const fn sentence(&self, status: u16) -> &'static str {
        match status {
            404 | 409 | 410 => self.unknown,
            408 | 429 | 503 | 507 => self.busy,
            500.. => self.internal,
            _ => self.refused,
        }
    }
}

static ENGLISH: Texts = Texts {
    language: Language::English,
    bank: "Test bank",
    confirm_payment: "Confirm your payment",
    confirm_identity: "Confirm that it is you",
    merchant: "Merchant",
    amount: "Amount",
    card: "Card",
    card_ending_in: "ending in",
    enter_code: "Enter the one-time code that we sent you.",
    test_code: "This is a test. The code is",
    code: "One-time code",
    confirm: "Confirm",
    wrong_code: "That code is not right. Try again.",
    wrong_code_last_try: "That code is not right. You can try once more.",
    approve_in_app: "Approve the request in your banking app, then come back here.",
    test_app: "This is a test. There is no app, so just continue.",
    not_approved: "We have not seen your approval yet.",
    approved: "I have approved it",
    cancel: "Cancel",
    next: "Continue",
    failure: FailureTexts {
        heading: "This did not work",
        unknown: "This authentication does not exist or is over. Go back to the shop and try \
                  again.",
        busy: "The server is busy. Wait a moment and try again.",
        refused: "This page was not opened in the right way. Go back to the shop and try again.",
        internal: "Something went wrong on the server. Go back to the shop and try again later.",
    },
};

static GERMAN: Texts = Texts {
    language: Language::German,
    bank: "Testbank",
    confirm_payment: "Zahlung best\u{e4}tigen",
    confirm_identity: "Identit\u{e4}t best\u{e4}tigen",
    merchant: "H\u{e4}ndler",
    amount: "Betrag",
    card: "Karte",
    card_ending_in: "mit den Endziffern",
    enter_code: "Geben Sie den Einmalcode ein, den wir Ihnen geschickt haben.",
    test_code: "Dies ist ein Test. Der Code lautet",
    code: "Einmalcode",
    confirm: "Best\u{e4}tigen",
    wrong_code: "Dieser Code ist nicht richtig. Versuchen Sie es noch einmal.",
    wrong_code_last_try: "Dieser Code ist nicht richtig. Sie haben noch einen Versuch.",
    approve_in_app: "Geben Sie die Anfrage in Ihrer Banking-App frei und kommen Sie dann hierher \
                     zur\u{fc}ck.",
    test_app: "Dies ist ein Test. Es gibt keine App, fahren Sie einfach fort.",
    not_approved: "Ihre Freigabe liegt uns noch nicht vor.",
    approved: "Ich habe sie freigegeben",
    cancel: "Abbrechen",
    next: "Weiter",
    failure: FailureTexts {
        heading: "Das hat nicht funktioniert",
        unknown: "Diese Authentifizierung gibt es nicht, oder sie ist beendet. Gehen Sie \
                  zur\u{fc}ck zum Shop und versuchen Sie es noch einmal.",
        busy: "Der Server ist ausgelastet. Warten Sie einen Moment und versuchen Sie es noch \
               einmal.",
        refused: "Diese Seite wurde nicht richtig aufgerufen. Gehen Sie zur\u{fc}ck zum Shop und \
                  versuchen Sie es noch einmal.",
        internal: "Auf dem Server ist ein Fehler aufgetreten. Gehen Sie zur\u{fc}ck zum Shop und \
                   versuchen Sie es sp\u{e4}ter noch einmal.",
    },
};

static FRENCH: Texts = Texts {
    language: Language::French,
    bank: "Banque de test",
    confirm_payment: "Confirmez votre paiement",
    confirm_identity: "Confirmez votre identit\u{e9}",
    merchant: "Commer\u{e7}ant",
    amount: "Montant",
    card: "Carte",
    card_ending_in: "se terminant par",
    enter_code: "Saisissez le code \u{e0} usage unique que nous vous avons envoy\u{e9}.",
    test_code: "Ceci est un test. Le code est",
    code: "Code \u{e0} usage unique",
    confirm: "Confirmer",
    wrong_code: "Ce code n\u{2019}est pas correct. R\u{e9}essayez.",
    wrong_code_last_try: "Ce code n\u{2019}est pas correct. Il vous reste un essai.",
    approve_in_app: "Approuvez la demande dans votre application bancaire, puis revenez ici.",
    test_app: "Ceci est un test. Il n\u{2019}y a pas d\u{2019}application, continuez simplement.",
    not_approved: "Nous n\u{2019}avons pas encore re\u{e7}u votre approbation.",
    approved: "J\u{2019}ai approuv\u{e9} la demande",
    cancel: "Annuler",
    next: "Continuer",
    failure: FailureTexts {
        heading: "Cela n\u{2019}a pas fonctionn\u{e9}",
        unknown: "Cette authentification n\u{2019}existe pas ou est termin\u{e9}e. Retournez \
                  \u{e0} la boutique et r\u{e9}essayez.",
        busy: "Le serveur est occup\u{e9}. Patientez un instant et r\u{e9}essayez.",
        refused: "Cette page n\u{2019}a pas \u{e9}t\u{e9} ouverte correctement. Retournez \u{e0} \
                  la boutique et r\u{e9}essayez.",
        internal: "Une erreur s\u{2019}est produite sur le serveur. Retournez \u{e0} la boutique \
                   et r\u{e9}essayez plus tard.",
    },
};

static SPANISH: Texts = Texts {
    language: Language::Spanish,
    bank: "Banco de prueba",
    confirm_payment: "Confirme su pago",
    confirm_identity: "Confirme su identidad",
    merchant: "Comercio",
    amount: "Importe",
    card: "Tarjeta",
    card_ending_in: "terminada en",
    enter_code: "Introduzca el c\u{f3}digo de un solo uso que le hemos enviado.",
    test_code: "Esto es una prueba. El c\u{f3}digo es",
    code: "C\u{f3}digo de un solo uso",
    confirm: "Confirmar",
    wrong_code: "El c\u{f3}digo no es correcto. Int\u{e9}ntelo de nuevo.",
    wrong_code_last_try: "El c\u{f3}digo no es correcto. Le queda un intento.",
    approve_in_app: "Apruebe la solicitud en su aplicaci\u{f3}n bancaria y vuelva aqu\u{ed}.",
    test_app: "Esto es una prueba. No hay ninguna aplicaci\u{f3}n, as\u{ed} que contin\u{fa}e sin \
               m\u{e1}s.",
    not_approved: "Todav\u{ed}a no hemos recibido su aprobaci\u{f3}n.",
    approved: "La he aprobado",
    cancel: "Cancelar",
    next: "Continuar",
    failure: FailureTexts {
        heading: "No ha funcionado",
        unknown: "Esta autenticaci\u{f3}n no existe o ha terminado. Vuelva a la tienda e \
                  int\u{e9}ntelo de nuevo.",
        busy: "El servidor est\u{e1} ocupado. Espere un momento e int\u{e9}ntelo de nuevo.",
        refused: "Esta p\u{e1}gina no se ha abierto correctamente. Vuelva a la tienda e \
                  int\u{e9}ntelo de nuevo.",
        internal: "Se ha producido un error en el servidor. Vuelva a la tienda e int\u{e9}ntelo \
                   m\u{e1}s tarde.",
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_texts_of_its_own() {
        for language in Language::ALL {
            assert_eq!(language.texts().language, language);
            let others = Language::ALL.into_iter().filter(|it| *it != language);
            for other in others.map(Language::texts) {
                assert_ne!(other.confirm_payment, language.texts().confirm_payment);
                assert_ne!(other.failure.heading, language.texts().failure.heading);
            }
        }
    }

    #[test]
    fn a_failure_is_told_by_its_status() {
        let texts = &ENGLISH.failure;
        for (status, sentence) in [
            (400, texts.refused),
            (404, texts.unknown),
            (405, texts.refused),
            (413, texts.refused),
            (429, texts.busy),
            (500, texts.internal),
            (502, texts.internal),
            (503, texts.busy),
        ] {
            assert_eq!(texts.sentence(status), sentence, "{status}");
        }
    }
}
