const { createRequire } = require('node:module');

/**
 * The library `cron` from beside `@nestjs/schedule`, which package managers that keep packages apart show to that package alone.
 *
 * CommonJS, since to look from where this file lies an ES module needs `import.meta`: to Jest in an app of CommonJS, which rewrites
 * ES modules, that is a syntax error.
 *
 * @returns {unknown}
 */
exports.cronOfSchedule = () => createRequire(require.resolve('@nestjs/schedule'))('cron');
