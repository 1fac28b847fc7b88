/** Where the library was built to. `JOBS_LIBRARY` names another build, to be compared with. */
const folder = new URL(process.env.JOBS_LIBRARY ?? '../../dist/', import.meta.url);

/** A module of the library, as `index.js` or from deeper inside: some measurements go through its inner seams. */
export function libraryModule(path) {
  return import(new URL(path, folder).href);
}
