//: line info a 1 { b: [ 1, 2 ] }
//: line error bad
//: line debug d
//: line info   inner
//: outcome {"kind":"returned","value":null}
module.exports = () => {
  console.log('a', 1, { b: [1, 2] });
  console.error('bad');
  console.debug('d');
  console.group();
  console.log('inner');
  console.groupEnd();
};
