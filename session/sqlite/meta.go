package sqlite

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/internal/rows"
)

const (
	insertMeta  = `INSERT INTO sessions (` + rows.Columns + `) VALUES (` + rows.Marks + `)`
	replaceMeta = `UPDATE sessions SET (` + rows.Columns + `) = (` + rows.Marks + `) WHERE num = ?`
)

// scanMeta reads [rows.Columns].
func scanMeta(r []driver.Value) session.Meta {
	m := session.Meta{
		ID: asText(r[0]), Head: asInt(r[1]),
		UpdatedAt:    rows.Time(asInt(r[3])),
		CreatedAt:    time.UnixMilli(asInt(r[4])).Add(time.Duration(asInt(r[5]))).UTC(),
		MessageCount: int(asInt(r[6])), Size: asInt(r[7]),
		Model: asText(r[8]), FirstPrompt: asText(r[9]), Title: asText(r[10]), Summary: asText(r[11]), Tag: asText(r[12]),
		Project: asText(r[13]), CWD: asText(r[14]), GitBranch: asText(r[15]),
		Parent: asText(r[16]), ParentSeq: asInt(r[17]), Deleted: asInt(r[18]) != 0,
		Questions: int(asInt(r[19])), Run: asText(r[20]), Owner: asText(r[21]), Trashed: asText(r[22]),
	}
	copy(m.HeadDigest[:], asBlob(r[2]))
	return m
}

// PutMeta implements [session.Rebuilder]. The meta must be of the log as it is
// now: when its head is not the last record's seq the error is ErrConflict.
// Whether the session is deleted does not follow from the log and stays.
func (s *Store) PutMeta(ctx context.Context, m session.Meta) error {
	return s.write(ctx, "put meta", m.ID, func(c *conn) error {
		r, err := c.row("SELECT num, deleted FROM sessions WHERE id = ?", m.ID)
		if err != nil {
			return err
		}
		if r == nil {
			return rows.NotFound("put meta", m.ID)
		}
		num := asInt(r[0])
		last, err := c.row("SELECT max(key) FROM records WHERE key BETWEEN ? AND ?", num<<seqBits, num<<seqBits|maxSeq)
		if err != nil {
			return err
		}
		if seq := asInt(last[0]) & maxSeq; seq != m.Head {
			return &session.Error{Op: "put meta", Session: m.ID, Seq: seq, Err: session.ErrConflict}
		}
		m := m
		m.Deleted = asInt(r[1]) != 0
		_, err = c.exec(replaceMeta, append(dialect.Values(&m), num)...)
		return err
	})
}
