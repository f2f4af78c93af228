// `path`: paths as texts.
'use strict';

const normalizeParts = (path, isAbsolute) => {
  const parts = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') { continue; }
    if (part === '..' && parts.length > 0 && parts[parts.length - 1] !== '..') {
      parts.pop();
    } else if (part !== '..' || !isAbsolute) {
      parts.push(part);
    }
  }
  return parts.join('/');
};

const normalize = (path) => {
  if (path === '') { return '.'; }
  const isAbsolute = path.startsWith('/');
  const text = normalizeParts(path, isAbsolute);
  const end = path.endsWith('/') && text !== '' ? '/' : '';
  return isAbsolute ? '/' + text + end : (text === '' ? '.' : text) + end;
};
const join = (...parts) => normalize(parts.filter((part) => part !== '').join('/'));
const resolve = (...parts) => {
  let path = '';
  for (const part of [...parts].reverse()) {
    path = path === '' ? part : `${part}/${path}`;
    if (part.startsWith('/')) { break; }
  }
  return '/' + normalizeParts(path, true);
};
const dirname = (path) => {
  const bare = path.replace(/\/+$/, '');
  const at = bare.lastIndexOf('/');
  return at < 0 ? (path.startsWith('/') ? '/' : '.') : at === 0 ? '/' : bare.slice(0, at);
};
const basename = (path, end = '') => {
  const name = path.replace(/\/+$/, '').split('/').pop();
  return end !== '' && name.endsWith(end) && name !== end ? name.slice(0, -end.length) : name;
};
const extname = (path) => {
  const name = basename(path);
  const at = name.lastIndexOf('.');
  return at <= 0 ? '' : name.slice(at);
};
const relative = (from, to) => {
  const [a, b] = [resolve(from).split('/').filter(Boolean), resolve(to).split('/').filter(Boolean)];
  let same = 0;
  while (same < a.length && a[same] === b[same]) { same += 1; }
  return [...Array(a.length - same).fill('..'), ...b.slice(same)].join('/');
};
const parse = (path) => {
  const ext = extname(path);
  return {
    root: path.startsWith('/') ? '/' : '',
    dir: path.includes('/') ? dirname(path) : '',
    base: basename(path),
    ext,
    name: basename(path, ext),
  };
};
const format = ({ dir, root = '', base, name = '', ext = '' }) => {
  const file = base || name + ext;
  return dir ? (dir === root ? dir + file : `${dir}/${file}`) : root + file;
};

module.exports = {
  basename, delimiter: ':', dirname, extname, format, isAbsolute: (path) => path.startsWith('/'), join,
  normalize, parse, relative, resolve, sep: '/', toNamespacedPath: (path) => path,
};
module.exports.posix = module.exports;
