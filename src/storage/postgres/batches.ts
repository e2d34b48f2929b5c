import { Failure } from '../../contract/errors.ts';

type Waiting<Item, Answer> = { item: Item; resolve: (answer: Answer) => void; reject: (error: unknown) => void };

// A batch holds the store's lock for one commit, whatever its size; more than this no longer helps.
const MAX_ITEMS = 64;
const MAX_BYTES = 1_000_000;

/**
 * Sends the writes of one store one call at a time; those that arrive meanwhile go together in the next call, in one
 * transaction. They would otherwise wait for each other's lock, a commit each, on as many connections. The database
 * decides each item, as if they came one after the other.
 */
export class Batches<Item, Answer> {
  readonly #send: (items: Item[]) => Promise<Answer[]>;
  readonly #sizeOf: (item: Item) => number;
  /** What waits, for each store with a call under way. */
  readonly #queues = new Map<string, Waiting<Item, Answer>[]>();

  constructor(send: (items: Item[]) => Promise<Answer[]>, sizeOf: (item: Item) => number) {
    this.#send = send;
    this.#sizeOf = sizeOf;
  }

  add(storeId: string, item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const queue = this.#queues.get(storeId);
      if (queue) queue.push({ item, resolve, reject });
      else void this.#drain(storeId, [{ item, resolve, reject }]);
    });
  }

  async #drain(storeId: string, queue: Waiting<Item, Answer>[]): Promise<void> {
    this.#queues.set(storeId, queue);
    while (queue.length > 0) await this.#answer(this.#take(queue));
    this.#queues.delete(storeId);
  }

  #take(queue: Waiting<Item, Answer>[]): Waiting<Item, Answer>[] {
    let count = 0;
    let bytes = 0;
    while (count < queue.length && count < MAX_ITEMS && bytes < MAX_BYTES)
      bytes += this.#sizeOf((queue[count++] as Waiting<Item, Answer>).item);
    return queue.splice(0, count);
  }

  /** Settles each of the batch; never rejects. */
  async #answer(batch: Waiting<Item, Answer>[]): Promise<void> {
    try {
      const answers = await this.#send(batch.map((waiting) => waiting.item));
      batch.forEach((waiting, index) => {
        waiting.resolve(answers[index] as Answer);
      });
    } catch (error) {
      // A failure of the database meets all. Any other error undid the batch for one item's sake: each is tried alone.
      if (batch.length === 1 || error instanceof Failure) for (const waiting of batch) waiting.reject(error);
      else for (const waiting of batch) await this.#answer([waiting]);
    }
  }
}
