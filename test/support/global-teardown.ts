/** Stops the server that global-setup.ts has started, if it did. */
export default async function stopServers(): Promise<void> {
  const { stopEmbedded } = globalThis as { stopEmbedded?: () => Promise<void> };
  await stopEmbedded?.();
}
