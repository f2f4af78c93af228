//: outcome {"kind":"returned","value":null}
module.exports = async () => {};
