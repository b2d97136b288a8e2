package sqlite

import "fmt"

// toVersion2 counts the open questions of each session: from its own approval
// records, as [session.Fold] does. Payloads are not read.
const toVersion2 = `
ALTER TABLE sessions ADD COLUMN questions INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET questions = asked.n FROM (
  SELECT key >> 32 AS num, sum(CASE kind WHEN 'approval.asked' THEN 1 ELSE -1 END) AS n
  FROM records WHERE kind IN ('approval.asked', 'approval.resolved') GROUP BY 1) AS asked
WHERE asked.num = sessions.num;
CREATE INDEX asking ON sessions (num) WHERE questions > 0;
`

// migrate brings a file of an older version to this one, in one transaction. Of
// several processes that try, one does it and the others find it done.
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
	if version == 1 {
		if err := c.script(toVersion2 + fmt.Sprintf("PRAGMA user_version = %d;", 2)); err != nil {
			return err
		}
	}
	return c.script("COMMIT")
}
