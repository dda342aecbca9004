// Addresses for people without an account.

/**
 * The address that opens a page of this app with the token of a link. The token is in the fragment, which browsers send
 * to no server and no log contains.
 */
export function shareUrl(path: string, token: string): string {
  return `${location.origin}${path}#share=${encodeURIComponent(token)}`;
}
