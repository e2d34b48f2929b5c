import Type, { type TSchema } from 'typebox';

/** Names of beta headers that endpoints ask for, by the kind of endpoint. */
export const BETAS = {
  memory: ['agent-memory-2026-07-22', 'managed-agents-2026-04-01'],
} as const;
export type BetaKind = keyof typeof BETAS;

export const Timestamp = Type.String({
  format: 'date-time',
  description: 'RFC 3339 in UTC with a fraction of a second.',
});

export function Nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()]);
}

const DAY_MS = 86_400_000;
const PADDED = Array.from({ length: 1000 }, (_, i) => String(i).padStart(2, '0'));
let lastDay = Number.NaN;
let lastDate = '';

/**
 * RFC 3339 in UTC with milliseconds. The date's part is kept from the call before, since times come in runs of a day:
 * a list of 20 has 40 of them, and `toISOString` alone was a twelfth of its cost.
 */
export function toTimestamp(milliseconds: number): string {
  const day = Math.floor(milliseconds / DAY_MS);
  if (day !== lastDay) {
    lastDate = new Date(milliseconds).toISOString().slice(0, -13);
    lastDay = day;
  }
  const rest = milliseconds - day * DAY_MS;
  const seconds = Math.floor(rest / 1000);
  const minutes = Math.floor(seconds / 60);
  const fraction = rest - seconds * 1000;
  const clock = `${PADDED[Math.floor(minutes / 60)]}:${PADDED[minutes % 60]}:${PADDED[seconds % 60]}`;
  return `${lastDate}${clock}.${fraction < 100 ? '0' : ''}${PADDED[fraction]}Z`;
}

export function toNullableTimestamp(milliseconds: number | null): string | null {
  return milliseconds === null ? null : toTimestamp(milliseconds);
}

const RFC3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/**
 * Reads an RFC 3339 timestamp to whole milliseconds since the epoch, rounding a finer fraction up or down. Null when
 * the text is not one. A leap second reads as the second after it.
 */
export function parseTimestamp(text: string, round: 'up' | 'down'): number | null {
  const match = RFC3339.exec(text);
  if (!match) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const offsetHours = Number(match[9] ?? 0);
  const offsetMinutes = Number(match[10] ?? 0);
  if (month < 1 || month > 12 || hour > 23 || minute > 59 || second > 60 || offsetHours > 23 || offsetMinutes > 59)
    return null;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  date.setUTCHours(hour, minute, second);
  const fraction = Number(`0.${match[7] ?? '0'}`) * 1000;
  const offset = (match[8] === '-' ? -1 : 1) * (offsetHours * 60 + offsetMinutes) * 60_000;
  return date.getTime() + (round === 'up' ? Math.ceil(fraction) : Math.floor(fraction)) - offset;
}
