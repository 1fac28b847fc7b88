import fc from 'fast-check';
import { InvalidPayloadError, PayloadTooLargeError } from '../../../lib/model/errors.js';
import { decodePayload, encodePayload } from '../../../lib/model/payload.js';

const roundTrip = (payload: unknown): unknown => decodePayload(encodePayload(payload, 1_000_000));

class Signup {
  constructor(
    readonly email: string,
    readonly note?: string,
  ) {}
}

describe('encodePayload', () => {
  it('carries every JSON value unchanged', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(roundTrip(value)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it.each([['text'], [''], [0], [false], [null], [[]], [{}], ['漢字 🎉'], ['a\0b'], ['\ud800']])(
    'carries %p',
    (value) => {
      expect(roundTrip(value)).toEqual(value);
    },
  );

  it('carries no payload as undefined', () => {
    expect(roundTrip(undefined)).toBeUndefined();
  });

  it('carries an instance of a plain class as its fields, without those that are undefined', () => {
    expect(roundTrip(new Signup('a@b.c'))).toEqual({ email: 'a@b.c' });
  });

  it('carries one object that stands in two places', () => {
    const shared = { n: 1 };

    expect(roundTrip([shared, shared])).toEqual([shared, shared]);
  });

  const cycle: Record<string, unknown> = { list: [] };
  (cycle['list'] as unknown[]).push(cycle);

  it.each([
    [() => 1, 'payload is a function'],
    [10n, 'payload is a BigInt: pass it as a string'],
    [Symbol('s'), 'payload is a symbol'],
    [Number.NaN, 'payload is NaN'],
    [{ a: { b: Infinity } }, 'payload.a.b is Infinity'],
    [{ list: [1, undefined] }, 'payload.list[1] is undefined'],
    // oxlint-disable-next-line no-sparse-arrays -- a hole is what is tested
    [{ list: [1, , 2] }, 'payload.list[1] is undefined'],
    [{ when: new Date(0) }, 'payload.when is a Date'],
    [{ m: new Map() }, 'payload.m is a Map'],
    [{ b: Buffer.from('x') }, 'payload.b is a Buffer'],
    [{ e: new Error('x') }, 'payload.e is an Error'],
    [{ 'odd key': { f: () => 1 } }, "payload['odd key'].f is a function"],
    [cycle, 'payload.list[0] is a reference to an object around it'],
  ])('refuses %p and names the path', (payload, message) => {
    expect(() => encodePayload(payload, 1_000)).toThrow(InvalidPayloadError);
    expect(() => encodePayload(payload, 1_000)).toThrow(message);
  });

  it('refuses what is nested too deeply instead of overflowing the stack', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level++) deep = [deep];

    expect(() => encodePayload(deep, 1_000_000)).toThrow(/nested deeper than 500 levels/);
  });

  it('counts bytes, not characters, against the limit', () => {
    expect(encodePayload('é'.repeat(4), 10)).toBe('"éééé"');
    expect(() => encodePayload('é'.repeat(5), 10)).toThrow(PayloadTooLargeError);
    expect(() => encodePayload('é'.repeat(5), 10)).toThrow(/has 12 bytes as JSON and 10 are allowed/);
  });
});

describe('decodePayload', () => {
  it('refuses text that is no JSON without showing it', () => {
    expect(() => decodePayload('secret@example.org')).toThrow(InvalidPayloadError);
    expect(() => decodePayload('secret@example.org')).toThrow(/^(?!.*secret).*18 characters/);
  });
});
