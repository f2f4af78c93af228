//: contract node
//: argument {"req":{"body":{"a":1},"headers":{"content-type":"application/json"}},"configuration":{"X":"y"}}
//: line info hello { a: 1 }
//: line warn careful
//: outcome {"kind":"returned","value":{"res":{"statusCode":202,"headers":{"x":"application/json"},"body":{"X":"y","key":"key_of_call","baseUrl":"https://vault.internal","bt":false}}}}
module.exports = async (event) => {
  const { req, configuration, logger, applicationOptions } = event;
  logger.info('hello', req.body);
  logger.warn('careful');
  return {
    res: {
      statusCode: 202,
      headers: { x: req.headers['Content-Type'] },
      body: { X: configuration.X, key: applicationOptions.apiKey, baseUrl: applicationOptions.baseUrl, bt: 'bt' in event },
    },
  };
};
