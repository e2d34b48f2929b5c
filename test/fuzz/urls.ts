import type { Bytes } from './wire.ts';
import { CANARY } from './wire.ts';

/** What may be added to an id, or stand in its place: none of it names an object. */
export const NO_IDS: Bytes[] = [
  ...[
    '%00',
    '%0a',
    '%0d%0aset-cookie:%20a=b',
    '%20',
    '%2f',
    '%2F..',
    '%25',
    '%27',
    '%22',
    '%5c',
    '%e2%80%ae',
    '%f0%9f%92%a9',
  ],
  ...["'", '"', '`', '\\', '|', '^', '<', '>', '{', '}', '[', ']', '*', '$', '~', '!', ':', ';', ';a=b', ',', '@', '='],
  ...["'%20OR%201=1--", '%27;DROP%20TABLE%20memories;--', '$' + '{7*7}', '%', '%z', '%zz', '%u0041', '%%30', '%c0%af'],
  ...['%ff', '%ed%a0%80', '%f4%90%80%80', '.', '..', '%2e', '%2e%2e', 'null', 'undefined', '-1', 'NaN', '__proto__'],
  ...['é', '💩', Buffer.from([0xff]), Buffer.from([0x80, 0x81]), 'x'.repeat(100), 'x'.repeat(200), 'x'.repeat(201)],
  'x'.repeat(8000),
];

/** Request targets as a whole, none of which is an endpoint. */
export const TARGETS: Bytes[] = [
  ...['/', '//', '/v1', '/v1/', '//v1/memory_stores', '/v1//memory_stores', '/./v1/memory_stores'],
  ...['/v1/./memory_stores', '/v1/x/../memory_stores', '/v1/%2e/memory_stores', '/v1/%2e%2e/v1/memory_stores'],
  ...['/V1/memory_stores', '/v1/Memory_Stores', '/v1%2fmemory_stores', '/v1/memory_stores;a=b', '/v1\\memory_stores'],
  ...['/%', '/%00', '/%zz', '/%c0%af', '/v1/memory_stores%', '/v1/memory_stores%00', '/v1/memory_stores%20'],
  ...['/mneme//v1/keys', '/.git/config', '/../../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '/*'],
  ...['*', 'v1/memory_stores', 'example.com:80', `/${CANARY}`, `/${CANARY}?${CANARY}#${CANARY}`, '/v1/mémoires'],
  ...[`/${'a/'.repeat(3000)}`, `/${'%41'.repeat(2000)}`, `/v1/memory_stores?${'a'.repeat(20_000)}`],
  Buffer.from([0x2f, 0xff, 0xfe]),
  Buffer.from('/\u2028/\u202e', 'utf8'),
  Buffer.from('/v1/memory_stores\0', 'utf8'),
  Buffer.from('/v1/memory_stores\t', 'utf8'),
];

export const LIMITS = [
  ...['1e9', '-1', '0', '1.5', '0x10', '', '101', '1e1', '%20', '5%20', '%2b5', '5%00', '5,5', '٣', '１', 'Infinity'],
  ...[
    'NaN',
    'null',
    'true',
    '1_0',
    '9007199254740993',
    '100000000000000000000',
    '-0.0',
    '[]',
    '{}',
    '%27',
    '1%3b',
    CANARY,
  ],
];
export const TIMES = [
  ...['', 'now', CANARY, '2026', '2026-01-01', '2026-01-01T00:00:00', '2026-13-01T00:00:00Z', '2026-02-30T00:00:00Z'],
  ...['2026-01-01T24:00:00Z', '2026-01-01T00:60:00Z', '2026-01-01T00:00:00%2b24:00', '10000-01-01T00:00:00Z', '1e12'],
  ...[
    '-2026-01-01T00:00:00Z',
    '2026-01-01T00:00:00Z%00',
    '2026-01-01T00:00:00.Z',
    '٢٠٢٦-01-01T00:00:00Z',
    '0',
    '1767225600',
  ],
];

/** Queries that no list accepts. */
export const QUERIES = [
  ...LIMITS.map((value) => `limit=${value}`),
  ...['limit=1&limit=2', 'limit=5&limit=5', 'limit[]=5', 'limit[gte]=5', '%6cimit=5&limit=5', 'LIMIT=5', 'limit%00=5'],
  ...['page=&page=', 'page[]=x', `page[${CANARY}]=x`, 'unknown=1', `${CANARY}=${CANARY}`, 'order=asc', 'order_by=path'],
  ...[
    '__proto__=1',
    '__proto__[limit]=5',
    'constructor=1',
    'prototype=1',
    'toString=1',
    'hasOwnProperty=1',
    'a',
    '=1',
    '%00=1',
  ],
];
export const MEMORY_QUERIES = [
  ...[
    'depth=2',
    'depth=-1',
    'depth=1.0',
    'depth=',
    'depth=0&depth=1',
    'depth=true',
    `depth=${CANARY}`,
    'view=',
    'view=FULL',
  ],
  ...['view=full&view=basic', 'view=full%00', `view=${CANARY}`, 'path_prefix=', 'path_prefix=a/', 'path_prefix=/a'],
  ...[
    'path_prefix=//',
    'path_prefix=/a//',
    'path_prefix=/../',
    'path_prefix=/./',
    'path_prefix=/%00/',
    'path_prefix=/e%cc%81/',
  ],
  ...[
    'path_prefix=/%e2%80%a8/',
    'path_prefix=/%ff/',
    'path_prefix=/%ed%a0%80/',
    'path_prefix=/%zz/',
    'path_prefix=/%/',
  ],
  ...[
    `path_prefix=/${'a'.repeat(1100)}/`,
    `path_prefix=/${'a/'.repeat(21)}`,
    'path_prefix=/&path_prefix=/',
    'prefix=/',
  ],
];
export const VERSION_QUERIES = [
  ...['operation=', 'operation=CREATED', 'operation=created&operation=created', `operation=${CANARY}`, 'view=none'],
  ...['memory_id', 'session_id', 'api_key_id', 'service_account_id'].flatMap((name) =>
    ['', '%00', 'a%00', '%20', 'é', '%0a', '%ff', 'x'.repeat(129)].map((value) => `${name}=${value}`),
  ),
  ...['memory_id=a&memory_id=b', 'session_id[]=a', 'user_id=a'],
];

const cursor = (value: unknown) =>
  `page_${Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')}`;

/** Cursors that no list has given out. */
export const CURSORS = [
  ...[
    '',
    'page_',
    'page',
    'PAGE_W10',
    'page_!',
    'page_%00',
    'page_=',
    `page_${CANARY}`,
    CANARY,
    `page_${'A'.repeat(5000)}`,
  ],
  ...[
    cursor('x'),
    cursor('{}'),
    cursor('[]'),
    cursor('null'),
    cursor('['.repeat(2000)),
    cursor(Buffer.alloc(3, 0xff).toString()),
  ],
  ...[
    ['stores'],
    ['stores', 1, 2],
    ['memories', 1],
    ['versions', '1'],
    ['stores', '1'],
    ['stores', null],
    ['x', 1],
  ].map(cursor),
  ...[-1, 1.5, 1e300, 2 ** 53].flatMap((n) => [cursor(['stores', n]), cursor(['versions', n])]),
  ...[[], {}, true, [1], { toString: 1 }].flatMap((x) => ['stores', 'memories', 'versions'].map((k) => cursor([k, x]))),
  ...['', 'a', '/a/../b', '//', '/\0', '/e\u0301', '/a\u2028', '/\ud800', `/${'a'.repeat(1025)}`].map((path) =>
    cursor(`["memories",${JSON.stringify(path)}]`),
  ),
  ...[cursor('["stores",1e400]'), cursor('["versions",-0.5]'), cursor(' ["x",1]'), `${cursor(['stores', 1])}!`],
];
