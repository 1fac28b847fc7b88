import type { INestApplication } from '@nestjs/common';

/** Listens on this port, or on a free one when it is taken. Resolves to the URL. */
export async function listenOnFreePort(app: INestApplication, port: number): Promise<string> {
  const host = '127.0.0.1';
  try {
    await app.listen(port, host);
  } catch (error) {
    if (!isPortTaken(error)) throw error;
    console.log(`Port ${port} is taken, taking a free one.`);
    await app.listen(0, host);
  }
  return app.getUrl();
}

function isPortTaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}
