// The SDK says where the ACS collects its data; the ACS's own page says when it is done.
addEventListener('message', (event) => {
  const message = event.data || {};
  // Only who framed this page may start a method in it.
  if (message.type === 'startMethod' && parent !== window && event.source === parent) {
    if (!/^https:/.test(message.threeDSMethodURL || '') || !message.threeDSMethodData) {
      parent.postMessage({ type: 'error', isCompleted: false, id: '', details: 'There is no method to start.' }, '*');
      return;
    }
    const frame = document.createElement('iframe');
    frame.name = 'acsMethodIframe';
    frame.hidden = true;
    const form = document.createElement('form');
    form.name = 'threeDSMethodForm';
    form.method = 'POST';
    form.action = message.threeDSMethodURL;
    form.target = frame.name;
    form.hidden = true;
    const field = document.createElement('input');
    field.type = 'hidden';
    field.name = 'threeDSMethodData';
    field.value = message.threeDSMethodData;
    form.append(field);
    document.body.append(frame, form);
    form.submit();
  } else if (message.type === 'method' && event.origin === location.origin && event.source?.parent === window) {
    // Copied by member, so that no other message of this origin can pass through here.
    const { type, id, isCompleted } = message;
    parent.postMessage({ type, id, isCompleted }, '*');
  }
});
