import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('sample_users')
export class User {
  @PrimaryColumn({ type: 'varchar', length: 36 })
  id!: string;

  @Column({ type: 'varchar', length: 190, unique: true })
  email!: string;

  @Column({ type: 'varchar', length: 190 })
  domain!: string;

  @Column({ type: 'varchar', length: 100 })
  name!: string;

  /** Epoch milliseconds. */
  @Column({ name: 'created_at', type: 'bigint' })
  createdAt!: number;
}
