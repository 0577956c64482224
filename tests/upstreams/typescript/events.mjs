/** Keeps every event of a session, in order: the id of an event is its place. */
export class Events {
  #events = [];

  async storeEvent(stream, message) {
    this.#events.push({ stream, message });
    return String(this.#events.length);
  }

  async getStreamIdForEventId(id) {
    return this.#events[Number(id) - 1]?.stream;
  }

  async replayEventsAfter(id, { send }) {
    const { stream } = this.#events[Number(id) - 1];
    for (const [place, event] of this.#events.entries()) {
      // A stream begins with an event that carries no message.
      if (place < Number(id) || event.stream !== stream || !event.message.jsonrpc) continue;
      await send(String(place + 1), event.message);
    }
    return stream;
  }
}
