//: outcome {"kind":"not_a_program","message":"The code must set module.exports to a function"}
module.exports = { raw: 1 };
