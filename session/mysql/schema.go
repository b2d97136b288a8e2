package mysql

// formatVersion is the version of the tables. Databases with a greater one are rejected.
const formatVersion = 1

// marker is the table that marks a store's database. Its version is 0 while the tables are being
// created.
const marker = `CREATE TABLE IF NOT EXISTS holdfast (
  one     TINYINT NOT NULL PRIMARY KEY,
  version INT     NOT NULL
) ENGINE=InnoDB`

// toVersion1 creates the missing tables; an earlier attempt may have been interrupted. The tables
// are described column by column in docs/formats/mysql.md.
var toVersion1 = []string{
	`CREATE TABLE IF NOT EXISTS sessions (
  num          BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  id           VARBINARY(128)  NOT NULL,
  epoch        BIGINT          NOT NULL,
  head         BIGINT          NOT NULL,
  head_digest  BINARY(32)      NOT NULL,
  updated_ms   BIGINT          NOT NULL,
  created_ms   BIGINT          NOT NULL,
  created_ns   INT             NOT NULL,
  messages     BIGINT          NOT NULL,
  size         BIGINT          NOT NULL,
  model        MEDIUMBLOB      NOT NULL,
  first_prompt MEDIUMBLOB      NOT NULL,
  title        MEDIUMBLOB      NOT NULL,
  summary      MEDIUMBLOB      NOT NULL,
  tag          MEDIUMBLOB      NOT NULL,
  project      MEDIUMBLOB      NOT NULL,
  cwd          MEDIUMBLOB      NOT NULL,
  git_branch   MEDIUMBLOB      NOT NULL,
  parent       VARBINARY(128)  NOT NULL,
  parent_seq   BIGINT          NOT NULL,
  deleted      TINYINT         NOT NULL,
  questions    BIGINT          NOT NULL,
  run          MEDIUMBLOB      NOT NULL,
  owner        MEDIUMBLOB      NOT NULL,
  trashed      VARBINARY(255)  NOT NULL,
  UNIQUE KEY ids (id),
  KEY recent (deleted, trashed, updated_ms, created_ms, created_ns, id),
  KEY forks (parent, parent_seq),
  KEY projects (project(128)),
  KEY asking (questions),
  KEY runs (run(32)),
  KEY owned (owner(128))
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
	`CREATE TABLE IF NOT EXISTS records (
  num     BIGINT UNSIGNED NOT NULL,
  seq     BIGINT          NOT NULL,
  id      VARBINARY(1024) NOT NULL,
  time_ms BIGINT          NOT NULL,
  kind    VARBINARY(255)  NOT NULL,
  chain   VARBINARY(96)   NOT NULL,
  payload LONGBLOB,
  PRIMARY KEY (num, seq)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
	`CREATE TABLE IF NOT EXISTS leases (
  id    VARBINARY(128) NOT NULL PRIMARY KEY,
  epoch BIGINT         NOT NULL,
  lease MEDIUMBLOB     NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
	`CREATE TABLE IF NOT EXISTS epochs (
  one  TINYINT NOT NULL PRIMARY KEY,
  last BIGINT  NOT NULL
) ENGINE=InnoDB`,
	`INSERT IGNORE INTO epochs (one, last) VALUES (1, 0)`,
}

// migrations[v] migrates version v to v+1. MySQL commits after each statement of a migration, so
// each statement must be safe to repeat.
var migrations = [formatVersion][]string{toVersion1}

// The procedure appends one record in one round trip without a text to
// parse. refusedText is the message that the session's row does not have the values that the batch
// expects.
const (
	procedureName = "append_record_1"
	refusedText   = "holdfast: refused"

	dropProcedure = `DROP PROCEDURE IF EXISTS ` + procedureName
	makeProcedure = `CREATE PROCEDURE ` + procedureName + `(
  p_id VARBINARY(128), p_expect BIGINT, p_epoch BIGINT,
  p_head BIGINT, p_digest BINARY(32), p_updated BIGINT, p_bytes BIGINT, p_messages BIGINT,
  p_model MEDIUMBLOB, p_prompt MEDIUMBLOB,
  p_record VARBINARY(1024), p_kind VARBINARY(255), p_chain VARBINARY(96), p_payload LONGBLOB)
SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  START TRANSACTION;
  UPDATE sessions SET num = LAST_INSERT_ID(num), head = p_head, head_digest = p_digest, updated_ms = p_updated,
    size = size + p_bytes, messages = messages + p_messages, model = coalesce(p_model, model),
    first_prompt = CASE first_prompt WHEN '' THEN p_prompt ELSE first_prompt END
  WHERE id = p_id AND head = p_expect AND epoch = p_epoch AND deleted = 0;
  IF ROW_COUNT() <> 1 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '` + refusedText + `';
  END IF;
  INSERT INTO records (num, seq, id, time_ms, kind, chain, payload)
  VALUES (LAST_INSERT_ID(), p_head, p_record, p_updated, p_kind, p_chain, p_payload);
  COMMIT;
END`
	callProcedure = `CALL ` + procedureName + `(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)
