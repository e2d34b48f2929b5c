/** Text from a server as a terminal may show it: control and format characters can't move the cursor or hide text. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\uFFFD');
}

/** Lines of a table with aligned columns. */
export function table(header: string[], rows: string[][]): string {
  const lines = [header, ...rows.map((row) => row.map(printable))];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Prints for a person on a terminal, or the JSON with `--json` or into a pipe. */
export function show(value: unknown, json: boolean | undefined, forPeople: () => string): void {
  process.stdout.write(`${json || !process.stdout.isTTY ? JSON.stringify(value, null, 2) : forPeople()}\n`);
}
