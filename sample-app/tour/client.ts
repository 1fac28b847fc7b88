import type { JobRow } from '../jobs/job-table.js';
import type { Signup } from '../signup/signup.service.js';

/** The HTTP interface of the service, as its users see it. */
export class Client {
  constructor(private readonly url: string) {}

  /** @throws Error when the service refuses. */
  async signUp(name: string, email: string): Promise<Signup> {
    const response = await this.post(name, email);
    if (response.status !== 201) throw new Error(`POST /signup answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as Signup;
  }

  /** The status code of a signup that should be refused. */
  async refusedSignUp(name: string, email: string): Promise<number> {
    const response = await this.post(name, email);
    await response.body?.cancel();
    return response.status;
  }

  /** The row of a job; `undefined` when it has completed. */
  async job(id: string): Promise<JobRow | undefined> {
    const response = await fetch(`${this.url}/jobs/${id}`);
    if (response.status === 200) return (await response.json()) as JobRow;
    await response.body?.cancel();
    if (response.status === 404) return undefined;
    throw new Error(`GET /jobs/${id} answered ${response.status}`);
  }

  private post(name: string, email: string): Promise<Response> {
    const body = JSON.stringify({ name, email });
    return fetch(`${this.url}/signup`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  }
}
