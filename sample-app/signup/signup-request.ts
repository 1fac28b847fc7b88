import { BadRequestException, Injectable, type PipeTransform } from '@nestjs/common';

/** The body of `POST /signup`, checked. */
export interface SignupRequest {
  readonly email: string;
  readonly name: string;
}

const emailPattern = /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+$/;
const controlCharacters = /\p{Cc}/u;

/** Turns whatever was sent into a `SignupRequest`, or answers 400. */
@Injectable()
export class SignupRequestPipe implements PipeTransform<unknown, SignupRequest> {
  transform(body: unknown): SignupRequest {
    const { email, name } = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
    return { email: checkEmail(email), name: checkName(name) };
  }
}

function checkEmail(email: unknown): string {
  const address = typeof email === 'string' ? email.trim().toLowerCase() : '';
  if (address.length <= 190 && emailPattern.test(address)) return address;
  throw new BadRequestException('email must be an e-mail address');
}

function checkName(name: unknown): string {
  const text = typeof name === 'string' ? name.trim() : '';
  if (text.length >= 1 && text.length <= 100 && !controlCharacters.test(text)) return text;
  throw new BadRequestException('name must be a text of 1 to 100 characters');
}
