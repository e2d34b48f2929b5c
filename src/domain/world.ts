import type { IdSource } from '../contract/ids.ts';
import type { Storage } from '../storage/storage.ts';

export type Settings = {
  /** Live memories that a store may hold. */
  maxMemoriesPerStore: number;
  /** Days that a version is kept at least; 0 keeps every version. */
  versionRetentionDays: number;
  /** The newest versions of a live memory that stay whatever their age. */
  keepRecentVersions: number;
};

/** Everything that operations need from outside; `main` builds it, tests build their own. */
export type World = {
  storage: Storage;
  /** Milliseconds since the epoch. Read once by each operation and passed down. */
  now: () => number;
  newId: IdSource;
  settings: Settings;
  /** The workspace of the server's owner: its admins manage workspaces. */
  defaultWorkspaceId: string;
  /**
   * Asks the sweeper to remove now what a redaction or deletion left behind. Settles when that is done, or after a
   * moment when it takes longer; what is left is logged and tried again, for the tables say what remains. Never fails.
   */
  sweepSoon: () => Promise<void>;
};
