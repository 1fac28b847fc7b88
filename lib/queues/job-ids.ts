import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

const bytesOfOne = 16;
/** Randomness is drawn for so many at once: the system call costs more than all the rest of an id. */
const drawnAtOnce = 256;
const largestSequence = 0xff_ff_ff_ff;

/**
 * Makes the ids of jobs: UUIDs of version 7, each above the one before, also within a millisecond and when the time of day is set back, so that
 * jobs which are due at the same moment run in the order in which they came (RFC 9562, section 6.2, method 1).
 */
export class JobIds {
  private readonly pool = new Uint8Array(bytesOfOne * drawnAtOnce);
  private used = this.pool.length;
  private msecs = -Infinity;
  private sequence = 0;

  next(): string {
    const random = this.draw();
    this.advance(random);
    return uuidv7({ random, msecs: this.msecs, seq: this.sequence });
  }

  private advance(random: Uint8Array): void {
    const now = Date.now();
    if (now <= this.msecs && this.sequence < largestSequence) {
      this.sequence += 1;
      return;
    }
    this.msecs = Math.max(now, this.msecs + 1);
    // Half of the range is left to count up.
    this.sequence = new DataView(random.buffer, random.byteOffset).getUint32(0) >>> 1;
  }

  private draw(): Uint8Array {
    if (this.used === this.pool.length) {
      randomFillSync(this.pool);
      this.used = 0;
    }
    const random = this.pool.subarray(this.used, this.used + bytesOfOne);
    this.used += bytesOfOne;
    return random;
  }
}
