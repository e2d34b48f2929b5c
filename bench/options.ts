import { parseArgs } from 'node:util';

export const PARTS = ['http', 'growth', 'postgres', 'peers'] as const;
export type Part = (typeof PARTS)[number];

export type Options = {
  parts: Part[];
  rounds: number;
  seconds: number;
  /** Memories of the large store in the growth part. */
  growth: number;
  /** Documents that each peer holds. */
  peerDocuments: number;
  /** Seconds for each operation of a peer. */
  peerSeconds: number;
  profile: boolean;
  jsonFile: string | null;
};

export const HELP = `npm run bench -- [flags]
  --only http,growth,..  parts to run: ${PARTS.join(', ')} (all)
  --rounds N             rounds, of which the medians are shown (5)
  --seconds N            seconds for each load of a round (2)
  --growth N             memories of the large database (1000000)
  --quick                a look in under a minute: fewer rounds, less data; its figures prove nothing
  --profile              profiles the server instead, and shows where its time goes
  --json FILE            writes every figure to a file
`;

function readNumber(flag: string, text: string, min: number): number {
  const number = Number(text);
  if (!(number >= min)) throw new Error(`--${flag} takes a number from ${min}.`);
  return number;
}

/** Raises an error with a message for the person who typed the flags. */
export function readOptions(args: string[]): Options | null {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      growth: { type: 'string' },
      quick: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return null;
  const quick = values.quick;
  const parts = values.only?.split(',') ?? [...PARTS];
  for (const part of parts)
    if (!(PARTS as readonly string[]).includes(part)) throw new Error(`--only takes some of ${PARTS.join(', ')}.`);
  return {
    parts: parts as Part[],
    rounds: readNumber('rounds', values.rounds ?? (quick ? '1' : '5'), 1),
    seconds: readNumber('seconds', values.seconds ?? (quick ? '0.6' : '2'), 0.1),
    growth: readNumber('growth', values.growth ?? (quick ? '50000' : '1000000'), 50_000),
    peerDocuments: quick ? 1000 : 10_000,
    peerSeconds: quick ? 0.7 : 5,
    profile: values.profile,
    jsonFile: values.json ?? null,
  };
}
