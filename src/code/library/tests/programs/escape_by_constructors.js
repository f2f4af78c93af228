//: about Every way to make a function evaluates in the program's own globals, without the wrapper of a module.
//: outcome {"kind":"returned","value":["undefined","undefined","undefined","undefined","undefined"]}
const names = 'typeof internal + typeof ports + typeof host + typeof require + typeof module';
const code = `return (${names}) === '${'undefined'.repeat(5)}' ? 'undefined' : (${names});`;
module.exports = async () => {
  const kinds = [Function, (async () => {}).constructor, require('fs').readFile.constructor, require('crypto').createHash.constructor];
  const made = [];
  for (const kind of kinds) { made.push(await new kind(code)()); }
  made.push((0, eval)(`(${names}) === '${'undefined'.repeat(5)}' ? 'undefined' : ${names}`));
  return made;
};
