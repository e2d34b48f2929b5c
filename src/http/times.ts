import { invalid } from '../contract/errors.ts';
import { parseTimestamp } from '../contract/wire.ts';

/** A time of a query in milliseconds; null when it is not given. Raises `invalid_request`. */
export function readTime(field: string, text: string | undefined, round: 'up' | 'down'): number | null {
  if (text === undefined) return null;
  const time = parseTimestamp(text, round);
  if (time === null) throw invalid(`${field} is not an RFC 3339 time such as 2026-01-31T09:00:00Z.`);
  return time;
}
