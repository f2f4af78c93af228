//: outcome {"kind":"returned","value":["tick","now","a","b"]}
module.exports = async () => {
  const seen = [];
  setTimeout(() => seen.push('b'), 100);
  setTimeout((text) => seen.push(text), 50, 'a');
  process.nextTick(() => seen.push('tick'));
  await null;
  seen.push('now');
  await new Promise((resolve) => { setTimeout(resolve, 200); });
  return seen;
};
