import Type, { type TSchema } from 'typebox';
import { invalid } from './errors.ts';
import { LIMITS } from './limits.ts';
import { Nullable } from './wire.ts';

export const PageParams = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: LIMITS.pageMax,
      description: `Items in a page, 1 to ${LIMITS.pageMax}; ${LIMITS.pageDefault} when omitted.`,
    }),
  ),
  page: Type.Optional(
    Type.String({
      description: 'The `next_page` of the page before. Send the same filters with it. Omit for the first page.',
    }),
  ),
};

export function Page<T extends TSchema>(item: T) {
  return Type.Object({
    data: Type.Array(item),
    next_page: Nullable(Type.String({ description: 'Pass as `page` for the next page; null on the last one.' })),
  });
}

/** Which list a cursor belongs to. */
export type PageKind = 'stores' | 'memories' | 'versions';

/**
 * A cursor names the last item that a page showed by what orders the list (a position, or a path), never by an offset:
 * rows that others write or delete meanwhile shift nothing, so no row that stays is skipped or shown twice.
 */
export function encodePage(kind: PageKind, last: number | string): string {
  return `page_${Buffer.from(JSON.stringify([kind, last])).toString('base64url')}`;
}

export function decodePage(kind: PageKind, type: 'number', page: string): number;
export function decodePage(kind: PageKind, type: 'string', page: string): string;
export function decodePage(kind: PageKind, type: 'number' | 'string', page: string): number | string {
  const refused = invalid('page is not a cursor of this list. Pass the next_page of an earlier response unchanged.');
  if (!/^page_[A-Za-z0-9_-]{1,4096}$/.test(page)) throw refused;
  let decoded: unknown;
  try {
    decoded = JSON.parse(Buffer.from(page.slice('page_'.length), 'base64url').toString());
  } catch {
    throw refused;
  }
  if (!Array.isArray(decoded) || decoded.length !== 2 || decoded[0] !== kind || typeof decoded[1] !== type)
    throw refused;
  if (type === 'number' && !(Number.isSafeInteger(decoded[1]) && decoded[1] >= 0)) throw refused;
  return decoded[1];
}
