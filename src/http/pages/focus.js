// After a wrong code the field gets the focus, so that a screen reader reads the error with it. The
// first page takes the focus only in a window of its own, not from the shop that frames it.
const field = document.getElementById('code');
if (window === window.top || field.hasAttribute('aria-invalid')) field.focus();
