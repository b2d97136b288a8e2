package sqlite

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// metaColumns are the columns of a [session.Meta], in the order of metaArgs and
// scanMeta.
const metaColumns = `id, head, head_digest, updated_ms, created_ms, created_ns, messages, size,
  model, first_prompt, title, summary, tag, project, cwd, git_branch, parent, parent_seq, deleted,
  questions, run, owner, trashed`

const (
	insertMeta = `INSERT INTO sessions (` + metaColumns + `)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	replaceMeta = `UPDATE sessions SET (` + metaColumns + `) =
(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE num = ?`
)

func metaArgs(m session.Meta) []any {
	created := m.CreatedAt.UTC()
	ns := created.Nanosecond() % int(time.Millisecond)
	deleted := int64(0)
	if m.Deleted {
		deleted = 1
	}
	return []any{
		m.ID, m.Head, m.HeadDigest[:], m.UpdatedAt.UnixMilli(), created.UnixMilli(), int64(ns), int64(m.MessageCount), m.Size,
		m.Model, m.FirstPrompt, m.Title, m.Summary, m.Tag, m.Project, m.CWD, m.GitBranch, m.Parent, m.ParentSeq, deleted,
		int64(m.Questions), m.Run, m.Owner, m.Trashed,
	}
}

func scanMeta(r []driver.Value) session.Meta {
	m := session.Meta{
		ID: asText(r[0]), Head: asInt(r[1]),
		UpdatedAt:    time.UnixMilli(asInt(r[3])).UTC(),
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
			return notFound("put meta", m.ID)
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
		_, err = c.exec(replaceMeta, append(metaArgs(m), num)...)
		return err
	})
}
