//: outcome {"kind":"returned","value":["no","no"]}
module.exports = async () => {
  const attempt = async (name) => {
    try {
      await import(name);
      return 'yes';
    } catch {
      return 'no';
    }
  };
  return [await attempt('fs'), await attempt('/etc/passwd')];
};
