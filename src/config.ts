import { LIMITS } from './contract/limits.ts';
import type { Settings } from './domain/world.ts';

/** The settings of a server. Each is an environment variable and a flag of `mneme serve`; the flag wins. */
export type Config = {
  host: string;
  port: number;
  dataDir: string;
  databaseUrl: string | null;
  apiKey: string | null;
  logLevel: string;
} & Settings;

export type SettingName = (typeof SETTINGS)[number]['flag'];

/** Every setting, for the flags, the help and the test that reads docs/operations.md. */
export const SETTINGS = [
  { flag: 'host', env: 'MNEME_HOST', value: '127.0.0.1', help: 'address to listen on' },
  { flag: 'port', env: 'MNEME_PORT', value: '8400', help: 'port to listen on; 0 picks a free one' },
  { flag: 'data-dir', env: 'MNEME_DATA_DIR', value: './.mneme', help: 'directory of the SQLite database' },
  {
    flag: 'database-url',
    env: 'MNEME_DATABASE_URL',
    value: '',
    help: 'postgres://.. to use PostgreSQL instead of SQLite',
  },
  {
    flag: 'api-key',
    env: 'MNEME_API_KEY',
    value: '',
    help: 'use this admin key for the default workspace instead of minting one',
  },
  {
    flag: 'version-retention-days',
    env: 'MNEME_VERSION_RETENTION_DAYS',
    value: '30',
    help: 'days a version is kept at least; 0 keeps all',
  },
  {
    flag: 'keep-recent-versions',
    env: 'MNEME_KEEP_RECENT_VERSIONS',
    value: '10',
    help: 'newest versions of a live memory that stay whatever their age',
  },
  {
    flag: 'max-memories-per-store',
    env: 'MNEME_MAX_MEMORIES_PER_STORE',
    value: String(LIMITS.memoriesPerStore),
    help: 'memories a store may hold',
  },
  {
    flag: 'log-level',
    env: 'MNEME_LOG_LEVEL',
    value: 'info',
    help: 'trace, debug, info, warn, error, fatal or silent',
  },
] as const;

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

export class ConfigError extends Error {}

/**
 * Reads settings from flags, then the environment, then defaults. An empty value counts as not given. Raises
 * `ConfigError` with the setting's name and what it takes.
 */
export function readConfig(
  flags: Partial<Record<SettingName, string>>,
  env: Record<string, string | undefined>,
): Config {
  const text = (flag: SettingName): string => {
    const setting = SETTINGS.find((each) => each.flag === flag) as (typeof SETTINGS)[number];
    return flags[flag] || env[setting.env] || setting.value;
  };
  const whole = (flag: SettingName, min: number, max: number): number => {
    const value = text(flag);
    const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= min && number <= max))
      throw new ConfigError(`--${flag} takes a whole number from ${min} to ${max}.`);
    return number;
  };
  const databaseUrl = text('database-url') || null;
  if (databaseUrl !== null && !/^postgres(ql)?:\/\//.test(databaseUrl))
    throw new ConfigError('--database-url takes a URL that starts with postgres://');
  const apiKey = text('api-key') || null;
  if (apiKey !== null && !/^[\x21-\x7e]{24,256}$/.test(apiKey))
    throw new ConfigError('--api-key takes 24 to 256 visible ASCII characters.');
  const logLevel = text('log-level');
  if (!LEVELS.includes(logLevel)) throw new ConfigError(`--log-level takes one of ${LEVELS.join(', ')}.`);
  return {
    host: text('host'),
    port: whole('port', 0, 65_535),
    dataDir: text('data-dir'),
    databaseUrl,
    apiKey,
    logLevel,
    versionRetentionDays: whole('version-retention-days', 0, 36_500),
    keepRecentVersions: whole('keep-recent-versions', 0, 1_000_000),
    maxMemoriesPerStore: whole('max-memories-per-store', 1, LIMITS.memoriesPerStore),
  };
}
