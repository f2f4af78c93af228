//: answer {"error":"the host is unknown"}
//: request {"method":"GET","url":"https://nowhere.test/"}
//: outcome {"kind":"threw","message":"the host is unknown"}
module.exports = () => new Promise((resolve, reject) => {
  require('https').get('https://nowhere.test/', resolve).on('error', reject);
});
