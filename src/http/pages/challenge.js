// The SDK says where the ACS asks its question; our own notification page says how it ended.
addEventListener('message', (event) => {
  const message = event.data || {};
  // Only who framed this page may start a challenge in it.
  if (message.type === 'startChallenge' && parent !== window && event.source === parent) {
    if (!/^https:/.test(message.acsURL || '') || !message.creq) {
      parent.postMessage({ type: 'error', isCompleted: false, id: '', details: 'There is no challenge to start.' }, '*');
      return;
    }
    const frame = document.createElement('iframe');
    frame.name = 'acsChallengeIframe';
    frame.id = frame.name;
    frame.title = document.title;
    const form = document.createElement('form');
    form.name = 'threeDSCReqForm';
    form.method = 'POST';
    form.action = message.acsURL;
    form.target = frame.name;
    form.hidden = true;
    const field = document.createElement('input');
    field.type = 'hidden';
    field.name = 'creq';
    field.value = message.creq;
    form.append(field);
    document.body.append(frame, form);
    form.submit();
  } else if (message.type === 'challenge' && event.origin === location.origin && event.source?.parent === window) {
    // Copied by member, so that no other message of this origin can pass through here.
    const { type, id, isCompleted, authenticationStatus } = message;
    parent.postMessage({ type, id, isCompleted, authenticationStatus }, '*');
  }
});
