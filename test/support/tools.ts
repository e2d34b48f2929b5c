/** The outside programs that tests use. The runner prepares them and names them in the environment. */
export const tools = ['postgres', 'python', 'ant', 'jq', 'curl'] as const;
export type Tool = (typeof tools)[number];

/** The variable that holds a tool's value: the URL of the PostgreSQL server, the path of a program for the others. */
export function valueVariable(tool: Tool): string {
  return tool === 'postgres' ? 'MNEME_TEST_POSTGRES_URL' : `MNEME_TEST_${tool.toUpperCase()}`;
}

/** The variable that holds the reason why a tool is missing. */
export function missingVariable(tool: Tool): string {
  return `MNEME_TEST_${tool.toUpperCase()}_MISSING`;
}

/**
 * What a test needs of a tool: its value, or the reason to skip.
 * `test('..', { skip: need('ant').skip }, async () => { .. need('ant').value .. })`
 */
export function need(tool: Tool): { value?: string; skip?: string } {
  const value = process.env[valueVariable(tool)];
  if (value) return { value };
  const reason = process.env[missingVariable(tool)] ?? 'the test was not started by test/run.ts';
  return { skip: `${tool} is missing: ${reason}` };
}
