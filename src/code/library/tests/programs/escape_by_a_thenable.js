//: outcome {"kind":"returned","value":5}
module.exports = () => ({ then(resolve) { resolve(5); resolve(6); throw new Error('late'); } });
