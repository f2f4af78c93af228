// The input of forms that the page itself refuses, before a call.

import { el, fill } from './dom.js';
import { notice, problem } from './parts.js';

/** A mistake that the page finds. Its message is for the person. */
export class FormMistake extends Error {}

/** The JSON of a text area; nothing for an empty one. */
export const parsedJson = (label, text) => {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (failure) {
    throw new FormMistake(`${label}: this is not JSON. ${failure.message}`);
  }
};

/** Shows why a form was not sent, or why the server refused it. */
export const showFailure = (place, failure) => {
  fill(place, failure instanceof FormMistake ? notice('bad', el('p', {}, failure.message)) : problem(failure));
  place.scrollIntoView({ block: 'nearest' });
};
