package postgres

// The text that marks a schema as a store's, and the version of the format. A greater version is
// rejected.
const (
	formatMark    = "holdfast sessions"
	formatVersion = 1
)

// formats has the statements that create each version from the previous one. All of
// it is described column by column in docs/formats/postgres.md. Text is bytea: PostgreSQL's
// text cannot contain NUL and compares by the rules of a language. Long payloads are compressed
// with LZ4 if the server supports it: the server's default compression takes 0.2 s for 10 MiB.
var formats = [formatVersion]string{`
CREATE TABLE format (mark text NOT NULL, version integer NOT NULL);
CREATE TABLE sessions (
  num          bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id           bytea   NOT NULL UNIQUE,
  epoch        bigint  NOT NULL,
  head         bigint  NOT NULL,
  head_digest  bytea   NOT NULL,
  updated_ms   bigint  NOT NULL,
  created_ms   bigint  NOT NULL,
  created_ns   bigint  NOT NULL,
  messages     bigint  NOT NULL,
  size         bigint  NOT NULL,
  model        bytea   NOT NULL,
  first_prompt bytea   NOT NULL,
  title        bytea   NOT NULL,
  summary      bytea   NOT NULL,
  tag          bytea   NOT NULL,
  project      bytea   NOT NULL,
  cwd          bytea   NOT NULL,
  git_branch   bytea   NOT NULL,
  parent       bytea   NOT NULL,
  parent_seq   bigint  NOT NULL,
  deleted      bigint  NOT NULL,
  questions    bigint  NOT NULL,
  run          bytea   NOT NULL,
  owner        bytea   NOT NULL,
  trashed      bytea   NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX recent ON sessions (updated_ms, created_ms, created_ns, id) WHERE deleted = 0 AND trashed = '';
CREATE INDEX trash ON sessions (num) WHERE trashed <> '';
CREATE INDEX forks ON sessions (parent, parent_seq) WHERE parent <> '';
CREATE INDEX tombstones ON sessions (num) WHERE deleted = 1;
CREATE INDEX asking ON sessions (num) WHERE questions > 0;
CREATE INDEX runs ON sessions (run) WHERE run <> '';
CREATE INDEX owned ON sessions (owner) WHERE owner <> '';
CREATE TABLE records (
  num     bigint NOT NULL,
  seq     bigint NOT NULL,
  id      bytea  NOT NULL,
  time_ms bigint NOT NULL,
  kind    text   NOT NULL COLLATE "C",
  chain   bytea  NOT NULL,
  payload bytea,
  PRIMARY KEY (num, seq)
);
DO $$ BEGIN ALTER TABLE records ALTER payload SET COMPRESSION lz4; EXCEPTION WHEN OTHERS THEN NULL; END $$;
CREATE TABLE leases (
  id    bytea  PRIMARY KEY,
  epoch bigint NOT NULL,
  lease text   NOT NULL
);
CREATE SEQUENCE epochs;
CREATE TABLE indexed (
  num  bigint PRIMARY KEY,
  head bigint NOT NULL,
  uses text   NOT NULL
);
CREATE TABLE search (
  num     bigint    NOT NULL,
  seq     bigint    NOT NULL,
  source  bigint    NOT NULL,
  time_ms bigint    NOT NULL,
  role    text      NOT NULL COLLATE "C",
  tool    bytea     NOT NULL,
  whole   boolean   NOT NULL,
  parts   integer[] NOT NULL,
  words   tsvector  NOT NULL
);
CREATE INDEX search_words ON search USING gin (words);
CREATE INDEX search_records ON search (num, seq);
CREATE INDEX search_recent ON search (time_ms, num, seq);
`}
