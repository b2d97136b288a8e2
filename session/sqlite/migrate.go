package sqlite

import "fmt"

// toVersion2 counts the open approval requests of each session from its approval records, as
// [session.Fold] does. It does not read payloads.
const toVersion2 = `
ALTER TABLE sessions ADD COLUMN questions INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET questions = asked.n FROM (
  SELECT key >> 32 AS num, sum(CASE kind WHEN 'approval.asked' THEN 1 ELSE -1 END) AS n
  FROM records WHERE kind IN ('approval.asked', 'approval.resolved') GROUP BY 1) AS asked
WHERE asked.num = sessions.num;
CREATE INDEX asking ON sessions (num) WHERE questions > 0;
`

// toVersion3 adds columns for runs. Records of older files contain no runs.
const toVersion3 = `
ALTER TABLE sessions ADD COLUMN run TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE INDEX runs ON sessions (run) WHERE run <> '';
CREATE INDEX owned ON sessions (owner) WHERE owner <> '';
`

// toVersion4 adds a column for the trash. Lists leave out sessions in the trash.
const toVersion4 = `
ALTER TABLE sessions ADD COLUMN trashed TEXT NOT NULL DEFAULT '';
DROP INDEX recent;
CREATE INDEX recent ON sessions (updated_ms, created_ms, created_ns, id, project) WHERE deleted = 0 AND trashed = '';
CREATE INDEX trash ON sessions (num) WHERE trashed <> '';
`

// migrations[v-1] migrates version v to v+1.
var migrations = [formatVersion - 1]string{toVersion2, toVersion3, toVersion4}

// migrate upgrades a file of an older version in one transaction. If several processes try, one of
// them upgrades the file, and the others find the new version.
func migrate(c *conn) (err error) {
	if err := c.script("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = c.script("ROLLBACK")
		}
	}()
	version, err := c.pragma("user_version")
	if err != nil {
		return err
	}
	for ; version < formatVersion; version++ {
		if err := c.script(migrations[version-1] + fmt.Sprintf("PRAGMA user_version = %d;", version+1)); err != nil {
			return err
		}
	}
	return c.script("COMMIT")
}
