import { writeFileSync } from 'node:fs';
import { cleanUpAtExit } from './cleanup.ts';
import { HELP, readOptions } from './options.ts';
import { runGrowth } from './part-growth.ts';
import { runHttp } from './part-http.ts';
import { runPeers } from './part-peers.ts';
import { runPostgres } from './part-postgres.ts';
import { runProfile } from './part-profile.ts';
import { checkTargets, type Results, writeReport } from './report.ts';

cleanUpAtExit();

/** Progress goes to standard error, so that standard output is the report. */
const say = (part: string) => (line: string) => process.stderr.write(`${part}: ${line}\n`);

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options === null) {
    process.stdout.write(HELP);
    return;
  }
  if (options.profile) {
    process.stdout.write(`${await runProfile(options, say('profile'))}\n`);
    return;
  }
  const results: Results = {};
  if (options.parts.includes('http')) results.http = await runHttp(options, say('http'));
  if (options.parts.includes('growth')) results.growth = await runGrowth(options, say('growth'));
  if (options.parts.includes('postgres')) results.postgres = await runPostgres(options, say('postgres'));
  if (options.parts.includes('peers')) results.peers = await runPeers(options, say('peers'));
  process.stdout.write(`${writeReport(results)}\n`);
  if (options.jsonFile !== null)
    writeFileSync(options.jsonFile, `${JSON.stringify({ ...results, targets: checkTargets(results) }, null, 2)}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
});
