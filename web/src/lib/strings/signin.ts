// Words of the sign-in page.
export const signin = {
  title: 'Sign in',
  lead: 'Run code and watch it, in the browser.',
  with: 'Sign in with',
  password: 'Password',
  token: 'Token',
  name: 'User name',
  tokenLabel: 'API token',
  tokenHint:
    'The first one is in the file “token” of the server’s data folder. The address that the server prints at its start signs in too.',
  submit: 'Sign in',
  wrongPassword: 'The user name or the password is wrong.',
  wrongToken: 'This token is not valid. It may have expired or been revoked.',
  tooMany: (seconds: number): string => `Too many attempts. Try again in ${seconds} s.`,
  ended: 'Your sign-in has ended. Sign in to continue where you were.',
};
