package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/session/rows"
	"github.com/holdfast-dev/holdfast/session"
)

// selectBounds detects logs without a session row: session numbers without gaps, and no record
// with a greater number, prove that there are none.
const selectBounds = `SELECT count(*), coalesce(max(num), 0), (SELECT coalesce(max(key), 0) FROM records) >> 32 FROM sessions`

// selectOrphans lists the numbers of logs without a row: it searches each gap between the session
// numbers, and the numbers after the last one, from log to log.
const selectOrphans = `
WITH RECURSIVE
  gaps(low, high) AS (
    SELECT before + 1, num - 1 FROM (SELECT num, lag(num, 1, 0) OVER (ORDER BY num) AS before FROM sessions) WHERE num > before + 1
    UNION ALL SELECT coalesce((SELECT max(num) FROM sessions), 0) + 1, 2147483646),
  logs(num, high) AS (
    SELECT (SELECT min(key) >> 32 FROM records WHERE key >= low << 32 AND key < (high + 1) << 32), high FROM gaps
    UNION ALL
    SELECT (SELECT min(key) >> 32 FROM records WHERE key >= (num + 1) << 32 AND key < (high + 1) << 32), high FROM logs WHERE num IS NOT NULL)
SELECT num FROM logs WHERE num IS NOT NULL`

const selectFirst = `SELECT payload, time_ms FROM records WHERE key BETWEEN ? AND ? ORDER BY key LIMIT 1`

// listOrphans inserts a row, marked as damaged, for each log whose session row is missing. The row
// keeps the log visible and prevents a new session from getting its number. The id comes from the
// first record or, if that record is unreadable, is derived from the number.
func (c *conn) listOrphans() error {
	r, err := c.row(selectBounds)
	if err != nil || asInt(r[0]) == asInt(r[1]) && asInt(r[2]) <= asInt(r[1]) {
		return err
	}
	var nums []int64
	find := func() error {
		nums = nil
		return c.query(selectOrphans, func(r []driver.Value) bool { nums = append(nums, asInt(r[0])); return true })
	}
	if err := find(); err != nil || len(nums) == 0 {
		return err
	}
	if err := c.script("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err = find() // no other process inserts rows now
	for i := 0; i < len(nums) && err == nil; i++ {
		err = c.listOrphan(nums[i])
	}
	if err != nil {
		_ = c.script("ROLLBACK")
		return err
	}
	return c.script("COMMIT")
}

func (c *conn) listOrphan(num int64) error {
	r, err := c.row(selectFirst, num<<seqBits, num<<seqBits|maxSeq)
	if err != nil || r == nil {
		return err
	}
	at := rows.Time(asInt(r[1]))
	m := session.Meta{CreatedAt: at, UpdatedAt: at}
	var opened session.Opened
	if json.Unmarshal(asBlob(r[0]), &opened) == nil && session.CheckID(opened.SessionID) == nil {
		m = m.Apply(session.Delta{Opened: &opened, Updated: at}) // the row has no head: the session is lost
	}
	taken, err := c.row("SELECT 1 FROM sessions WHERE id = ?", m.ID)
	if err != nil {
		return err
	}
	if m.ID == "" || taken != nil {
		m.ID = fmt.Sprintf("lost-%d", num)
	}
	_, err = c.exec(`INSERT INTO sessions (num, `+rows.Columns+`) VALUES (?, `+rows.Marks+`)`, append([]any{num}, dialect.Values(&m)...)...)
	return err
}

// lastSeq returns the seq of the last record of a log, or 0.
func (c *conn) lastSeq(num int64) (int64, error) {
	r, err := c.row("SELECT max(key) FROM records WHERE key BETWEEN ? AND ?", num<<seqBits, num<<seqBits|maxSeq)
	if err != nil {
		return 0, err
	}
	return asInt(r[0]) & maxSeq, nil
}
