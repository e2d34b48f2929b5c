export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The median of a figure over rounds; null when one of them lacks it. */
export function medianOf<T>(rounds: T[], figure: (round: T) => number | null): number | null {
  const values = rounds.map(figure);
  return values.includes(null) ? null : median(values as number[]);
}
