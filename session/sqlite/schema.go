package sqlite

// A store file has SQLite's application id "hold" and, as its user
// version, the version of the schema. Files with a greater version are rejected.
const (
	applicationID = 0x686f6c64
	formatVersion = 4
)

// A record's key combines its session's num and its seq.
const (
	seqBits = 32
	maxSeq  = 1<<seqBits - 1
)

// schema is described column by column in docs/formats/sqlite.md.
const schema = `
CREATE TABLE sessions (
  num          INTEGER PRIMARY KEY,
  id           TEXT    NOT NULL UNIQUE,
  head         INTEGER NOT NULL,
  head_digest  BLOB    NOT NULL,
  updated_ms   INTEGER NOT NULL,
  created_ms   INTEGER NOT NULL,
  created_ns   INTEGER NOT NULL,
  messages     INTEGER NOT NULL,
  size         INTEGER NOT NULL,
  model        TEXT    NOT NULL,
  first_prompt TEXT    NOT NULL,
  title        TEXT    NOT NULL,
  summary      TEXT    NOT NULL,
  tag          TEXT    NOT NULL,
  project      TEXT    NOT NULL,
  cwd          TEXT    NOT NULL,
  git_branch   TEXT    NOT NULL,
  parent       TEXT    NOT NULL,
  parent_seq   INTEGER NOT NULL,
  deleted      INTEGER NOT NULL,
  questions    INTEGER NOT NULL DEFAULT 0,
  run          TEXT    NOT NULL DEFAULT '',
  owner        TEXT    NOT NULL DEFAULT '',
  trashed      TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX recent ON sessions (updated_ms, created_ms, created_ns, id, project) WHERE deleted = 0 AND trashed = '';
CREATE INDEX trash ON sessions (num) WHERE trashed <> '';
CREATE INDEX forks ON sessions (parent, parent_seq) WHERE parent <> '';
CREATE INDEX tombstones ON sessions (num) WHERE deleted = 1;
CREATE INDEX asking ON sessions (num) WHERE questions > 0;
CREATE INDEX runs ON sessions (run) WHERE run <> '';
CREATE INDEX owned ON sessions (owner) WHERE owner <> '';
CREATE TABLE records (
  row     INTEGER PRIMARY KEY,
  key     INTEGER NOT NULL UNIQUE,
  id      TEXT    NOT NULL,
  time_ms INTEGER NOT NULL,
  kind    TEXT    NOT NULL,
  chain   BLOB    NOT NULL,
  payload BLOB
) STRICT;
CREATE TABLE leases (
  id    TEXT    PRIMARY KEY,
  epoch INTEGER NOT NULL,
  lease TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE epochs (last INTEGER NOT NULL) STRICT;
INSERT INTO epochs VALUES (0);
`

// pragmas are set on every connection. secure_delete overwrites deleted content with zeros. The
// journal size limit truncates the journal after a checkpoint, so that it does not stay large
// after a long read. The cache, in KiB, is for pages that appends and lists use repeatedly. A
// session is read only once, from the operating system's cache.
const pragmas = `
PRAGMA synchronous = FULL;
PRAGMA secure_delete = ON;
PRAGMA journal_size_limit = 16777216;
PRAGMA cache_size = -512;
`

// wideCache is for a connection that appends to many sessions in turn, each with index pages that
// every commit writes. With this cache the pages stay in memory. A checkpoint every 16 MiB of
// journal copies them less often than one every 4 MiB, and a journal of 16 MiB is kept in any case.
const wideCache = `PRAGMA cache_size = -4096; PRAGMA wal_autocheckpoint = 4000`
