// The choice between the networks of a card that belongs to more than one, such as Visa and Cartes Bancaires.

/** `Cartes Bancaires` for `cartes-bancaires`, if the table of brands has no name. */
const nameOf = (table, network) => table.brands[network]?.name
  ?? network.split('-').map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join(' ');

export class NetworkChoice {
  #select = null;
  #bin = '';
  #onChoose;

  /** `onChoose` gets the network, or null if there is no choice any more. */
  constructor(onChoose) { this.#onChoose = onChoose; }

  get chosen() { return this.#select?.value || null; }

  show(place, { bin, networks, chosen, label, table }) {
    this.#select?.remove();
    this.#bin = bin;
    const select = document.createElement('select');
    select.id = 'network';
    select.setAttribute('aria-label', label);
    const none = new Option(label, '', true);
    none.hidden = true;
    select.append(none, ...networks.map((network) => new Option(nameOf(table, network), network)));
    select.value = chosen ?? '';
    select.addEventListener('change', () => this.#onChoose(this.chosen));
    place.append(select);
    this.#select = select;
    if (chosen) this.#onChoose(chosen);
  }

  /** The choice is about one number, and leaves with it. */
  keepFor(digits) {
    if (this.#select === null || digits.startsWith(this.#bin)) return;
    const { chosen } = this;
    this.#select.remove();
    this.#select = null;
    if (chosen) this.#onChoose(null);
  }
}
