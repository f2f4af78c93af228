//: outcome {"kind":"threw","message":"Client certificates are not available to programs"}
const https = require('https');
module.exports = () => new https.Agent({ cert: 'c', key: 'k' });
