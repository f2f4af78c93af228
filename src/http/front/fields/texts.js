// The texts of the fields in four languages. A shop can replace each of them.

const EN = {
  label_number: 'Card number',
  label_expiry: 'Expiry date',
  label_cvc: 'Security code',
  label_network: 'Card network',
  copy: 'Copy',
  placeholder_number: '1234 1234 1234 1234',
  placeholder_expiry: 'MM / YY',
  placeholder_cvc: 'CVC',
  error_number_required: 'Enter the card number.',
  error_number_incomplete: 'The card number is not complete.',
  error_number_invalid: 'This is not a valid card number.',
  error_number_refused: 'The card number was not accepted.',
  error_expiry_required: 'Enter the expiry date.',
  error_expiry_incomplete: 'The expiry date is not complete.',
  error_expiry_invalid: 'This is not a valid expiry date.',
  error_expiry_expired: 'The card has expired.',
  error_expiry_refused: 'The expiry date was not accepted.',
  error_cvc_required: 'Enter the security code.',
  error_cvc_incomplete: 'The security code is not complete.',
  error_cvc_invalid: 'The security code has too many digits.',
  error_cvc_refused: 'The security code was not accepted.',
  not_allowed: 'Card fields cannot be shown on this page.',
};

const DE = {
  label_number: 'Kartennummer',
  label_expiry: 'Gültig bis',
  label_cvc: 'Prüfnummer',
  label_network: 'Kartennetz',
  copy: 'Kopieren',
  placeholder_number: '1234 1234 1234 1234',
  placeholder_expiry: 'MM / JJ',
  placeholder_cvc: 'CVC',
  error_number_required: 'Geben Sie die Kartennummer ein.',
  error_number_incomplete: 'Die Kartennummer ist unvollständig.',
  error_number_invalid: 'Die Kartennummer ist ungültig.',
  error_number_refused: 'Die Kartennummer wurde nicht angenommen.',
  error_expiry_required: 'Geben Sie das Ablaufdatum ein.',
  error_expiry_incomplete: 'Das Ablaufdatum ist unvollständig.',
  error_expiry_invalid: 'Das Ablaufdatum ist ungültig.',
  error_expiry_expired: 'Die Karte ist abgelaufen.',
  error_expiry_refused: 'Das Ablaufdatum wurde nicht angenommen.',
  error_cvc_required: 'Geben Sie die Prüfnummer ein.',
  error_cvc_incomplete: 'Die Prüfnummer ist unvollständig.',
  error_cvc_invalid: 'Die Prüfnummer hat zu viele Ziffern.',
  error_cvc_refused: 'Die Prüfnummer wurde nicht angenommen.',
  not_allowed: 'Kartenfelder können auf dieser Seite nicht angezeigt werden.',
};

const FR = {
  label_number: 'Numéro de carte',
  label_expiry: 'Date d’expiration',
  label_cvc: 'Code de sécurité',
  label_network: 'Réseau de la carte',
  copy: 'Copier',
  placeholder_number: '1234 1234 1234 1234',
  placeholder_expiry: 'MM / AA',
  placeholder_cvc: 'CVC',
  error_number_required: 'Saisissez le numéro de carte.',
  error_number_incomplete: 'Le numéro de carte est incomplet.',
  error_number_invalid: 'Le numéro de carte n’est pas valide.',
  error_number_refused: 'Le numéro de carte n’a pas été accepté.',
  error_expiry_required: 'Saisissez la date d’expiration.',
  error_expiry_incomplete: 'La date d’expiration est incomplète.',
  error_expiry_invalid: 'La date d’expiration n’est pas valide.',
  error_expiry_expired: 'La carte a expiré.',
  error_expiry_refused: 'La date d’expiration n’a pas été acceptée.',
  error_cvc_required: 'Saisissez le code de sécurité.',
  error_cvc_incomplete: 'Le code de sécurité est incomplet.',
  error_cvc_invalid: 'Le code de sécurité a trop de chiffres.',
  error_cvc_refused: 'Le code de sécurité n’a pas été accepté.',
  not_allowed: 'Les champs de carte ne peuvent pas être affichés sur cette page.',
};

const ES = {
  label_number: 'Número de tarjeta',
  label_expiry: 'Fecha de caducidad',
  label_cvc: 'Código de seguridad',
  label_network: 'Red de la tarjeta',
  copy: 'Copiar',
  placeholder_number: '1234 1234 1234 1234',
  placeholder_expiry: 'MM / AA',
  placeholder_cvc: 'CVC',
  error_number_required: 'Introduzca el número de tarjeta.',
  error_number_incomplete: 'El número de tarjeta está incompleto.',
  error_number_invalid: 'El número de tarjeta no es válido.',
  error_number_refused: 'El número de tarjeta no fue aceptado.',
  error_expiry_required: 'Introduzca la fecha de caducidad.',
  error_expiry_incomplete: 'La fecha de caducidad está incompleta.',
  error_expiry_invalid: 'La fecha de caducidad no es válida.',
  error_expiry_expired: 'La tarjeta ha caducado.',
  error_expiry_refused: 'La fecha de caducidad no fue aceptada.',
  error_cvc_required: 'Introduzca el código de seguridad.',
  error_cvc_incomplete: 'El código de seguridad está incompleto.',
  error_cvc_invalid: 'El código de seguridad tiene demasiados dígitos.',
  error_cvc_refused: 'El código de seguridad no fue aceptado.',
  not_allowed: 'Los campos de tarjeta no se pueden mostrar en esta página.',
};

const ALL = { en: EN, de: DE, fr: FR, es: ES };
const TEXT_CHARS_MAX = 160;

/** The language of a locale such as `de-AT`, or English. */
export const languageOf = (locale) => {
  const language = String(locale ?? '').slice(0, 2).toLowerCase();
  return Object.hasOwn(ALL, language) ? language : 'en';
};

/** All texts of a language, with those of the shop in place of ours. Other names are left out. */
export const textsOf = (locale, ofShop) => {
  const texts = { ...ALL[languageOf(locale)] };
  for (const name of Object.keys(texts)) {
    const own = ofShop && Object.hasOwn(ofShop, name) ? ofShop[name] : undefined;
    if (typeof own === 'string') texts[name] = own.slice(0, TEXT_CHARS_MAX);
  }
  return texts;
};
