// `https`.
'use strict';

const { make, ...rest } = require('http.js');

module.exports = { ...rest, ...make('https:') };
