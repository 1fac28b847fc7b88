import { Table, type MigrationInterface, type QueryRunner } from 'typeorm';

export class CreateUsers1700000000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const table = new Table({
      name: 'sample_users',
      columns: [
        { name: 'id', type: 'varchar', length: '36', isPrimary: true },
        { name: 'email', type: 'varchar', length: '190', isUnique: true },
        { name: 'domain', type: 'varchar', length: '190' },
        { name: 'name', type: 'varchar', length: '100' },
        { name: 'created_at', type: 'bigint' },
      ],
      indices: [{ columnNames: ['domain'] }],
    });
    await queryRunner.createTable(table, true);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('sample_users');
  }
}
