//: answer {"status":403,"headers":{"content-type":"application/problem+json"},"body":{"title":"Forbidden","status":403}}
//: request {"method":"GET","url":"https://vault.internal/tokens/t1"}
//: outcome {"kind":"returned","value":{"raw":[403,{"title":"Forbidden","status":403},"BasisTheoryApiError"]}}
module.exports = async ({ bt }) => {
  try {
    return await bt.tokens.retrieve('t1');
  } catch (error) {
    return { raw: [error.status, error.data, error.name] };
  }
};
