import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Inbox } from './inbox.mjs';

const script = fileURLToPath(new URL('./child.mjs', import.meta.url));

/** The measuring process's end of a child process. */
export class ChildProcess {
  #child;
  #inbox = new Inbox();
  #listeners = new Map();
  #ended;
  #failure;

  /**
   * @param {string} role
   * @param {string} contestant Its id; empty for roles that need none.
   * @param {object} settings What the role wants to know.
   * @param {string[]} execArgv Options of Node.
   */
  constructor(role, contestant, settings, execArgv = []) {
    this.#child = fork(script, [role, contestant, JSON.stringify(settings)], { execArgv });
    this.#child.on('message', ({ kind, ...values }) => {
      const listen = this.#listeners.get(kind);
      if (listen === undefined) this.#inbox.put(kind, values);
      else listen(values);
    });
    this.#ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#failure = this.#ended.then((code) => {
      throw new Error(`the process for ${role} ${contestant} ended with ${code} before it was done`);
    });
    this.#failure.catch(() => {});
  }

  /** Resolves to what comes with the next message of this kind. @throws when the process ends before. */
  hear(kind) {
    return Promise.race([this.#inbox.take(kind), this.#failure]);
  }

  /** Tells one thing and resolves to what comes with the answer. */
  ask(kind, answer) {
    const heard = this.hear(answer);
    this.tell(kind);
    return heard;
  }

  /** Calls `listen` for each message of this kind. */
  on(kind, listen) {
    this.#listeners.set(kind, listen);
  }

  tell(kind) {
    this.#child.send({ kind });
  }

  /** Tells it to stop and waits for its end. */
  async stop() {
    if (this.#child.connected) this.tell('stop');
    await this.#ended;
  }

  kill() {
    this.#child.kill('SIGKILL');
  }

  get failure() {
    return this.#failure;
  }
}
