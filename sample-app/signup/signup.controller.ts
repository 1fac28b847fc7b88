import { Body, Controller, Post } from '@nestjs/common';
import { SignupRequestPipe, type SignupRequest } from './signup-request.js';
import { SignupService, type Signup } from './signup.service.js';

@Controller('signup')
export class SignupController {
  constructor(private readonly signups: SignupService) {}

  @Post()
  signUp(@Body(SignupRequestPipe) request: SignupRequest): Promise<Signup> {
    return this.signups.signUp(request);
  }
}
