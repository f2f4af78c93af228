//: outcome {"kind":"returned","value":[["AuthenticationError",401,true],["AuthorizationError",403,true],["BadRequestError",400,true],["InvalidPaymentMethodError",402,true],["InvalidReactorConfigurationError",400,true],["RateLimitError",429,true],["ReactorRuntimeError",500,true],["ServiceUnavailableError",503,true]]}
const errors = require('@basis-theory/basis-theory-reactor-formulas-sdk-js');
module.exports = () => Object.keys(errors)
  .filter((name) => !['BasisTheoryReactorError', 'CustomHttpResponseError', 'ServiceUnavailable'].includes(name))
  .map((name) => {
    const error = new errors[name]('x');
    return [error.name, error.status, error instanceof Error && error instanceof errors.BasisTheoryReactorError];
  });
