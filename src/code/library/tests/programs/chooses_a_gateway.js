//: argument {"args":{"amount":500,"bin":"400000"},"configuration":{"A":"https://a.test","B":"https://b.test"}}
//: answer {"status":503,"body":"down"}
//: answer {"status":200,"body":{"id":"b-1"}}
//: request {"method":"POST","url":"https://a.test/charges","headers":{"Content-Type":"application/json","Authorization":"Basic dTpw"},"body":"{\"amount\":500}"}
//: request {"method":"POST","url":"https://b.test/charges","body":"{\"amount\":500}"}
//: outcome {"kind":"returned","value":{"raw":{"gateway":"B","id":"b-1"}}}
const axios = require('axios');
module.exports = async ({ args, configuration }) => {
  for (const gateway of ['A', 'B']) {
    try {
      const { data } = await axios.post(`${configuration[gateway]}/charges`, { amount: args.amount },
        { auth: { username: 'u', password: 'p' }, timeout: 5000 });
      return { raw: { gateway, id: data.id } };
    } catch (error) {
      if (!axios.isAxiosError(error) || error.response.status !== 503) { throw error; }
    }
  }
  throw new Error('no gateway answers');
};
