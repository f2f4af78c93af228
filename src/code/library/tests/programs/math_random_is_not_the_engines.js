//: outcome {"kind":"returned","value":[true,1000]}
module.exports = () => {
  const numbers = Array.from({ length: 1000 }, () => Math.random());
  return [numbers.every((it) => it >= 0 && it < 1), new Set(numbers).size];
};
