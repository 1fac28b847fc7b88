/** Each bucket is half as wide again as the one before: what is read from it is at most 19 % off. */
const growth = Math.SQRT2;
/** More than a year. */
const lastBucket = 70;

/**
 * Counts milliseconds in buckets that grow with what they hold, so that histograms of many processes can be added up and percentiles
 * read from the sum. The idea is that of HdrHistogram, in one digit.
 */
export class Histogram {
  private readonly buckets = new Map<number, number>();

  /** Reads what `toText` has written. What is no histogram counts for nothing. */
  static parse(text: string): Histogram {
    const histogram = new Histogram();
    for (const part of text === '' ? [] : text.split(',')) {
      const [bucket = NaN, count = NaN] = part.split(':').map(Number);
      const isBucket = Number.isInteger(bucket) && bucket >= 0 && bucket <= lastBucket;
      if (isBucket && Number.isSafeInteger(count) && count > 0) histogram.count(bucket, count);
    }
    return histogram;
  }

  get total(): number {
    let total = 0;
    for (const count of this.buckets.values()) total += count;
    return total;
  }

  add(ms: number): void {
    this.count(bucketOf(ms), 1);
  }

  merge(other: Histogram): void {
    for (const [bucket, count] of other.buckets) this.count(bucket, count);
  }

  /**
   * The milliseconds that this part of all does not exceed, in whole ones.
   *
   * @param part From 0 to 1: 0.5 for the median.
   * @returns `undefined` where nothing was counted.
   */
  quantile(part: number): number | undefined {
    const wanted = Math.max(1, Math.ceil(this.total * part));
    let seen = 0;
    for (const [bucket, count] of [...this.buckets].toSorted(([a], [b]) => a - b)) {
      seen += count;
      if (seen >= wanted) return middleOf(bucket);
    }
    return undefined;
  }

  toText(): string {
    return [...this.buckets].map(([bucket, count]) => `${bucket}:${count}`).join(',');
  }

  private count(bucket: number, count: number): void {
    this.buckets.set(bucket, (this.buckets.get(bucket) ?? 0) + count);
  }
}

/** Bucket 0 is what takes less than a millisecond, 1 begins at one. */
function bucketOf(ms: number): number {
  if (!(ms >= 1)) return 0;
  return Math.min(lastBucket, 1 + Math.floor(Math.log(ms) / Math.log(growth)));
}

function middleOf(bucket: number): number {
  return bucket === 0 ? 0 : Math.round(growth ** (bucket - 0.5));
}
