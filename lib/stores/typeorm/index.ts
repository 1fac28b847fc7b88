/**
 * The door for those who run the migrations of the job table themselves.
 *
 * @packageDocumentation
 */
export { CreateJobs1764547200000, jobMigrations, type JobMigration } from './migrations/job-migrations.js';
