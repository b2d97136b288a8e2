package rows

import (
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Columns are the columns of a [session.Meta] in the table sessions, in the order of
// [Dialect.Values] and [Scan]. Times are in milliseconds since 1970; created_ns are the nanoseconds
// beyond created_ms. A missing text is an empty string. Deleted is 0 or 1.
const Columns = `id, head, head_digest, updated_ms, created_ms, created_ns, messages, size,
  model, first_prompt, title, summary, tag, project, cwd, git_branch, parent, parent_seq, deleted,
  questions, run, owner, trashed`

// Marks is one parameter for each of [Columns].
const Marks = `?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?`

// replaceMeta sets all [Columns].
var replaceMeta = "UPDATE sessions SET " + strings.Join(strings.FieldsFunc(Columns, func(r rune) bool { return strings.ContainsRune(", \n", r) }), " = ?, ") + " = ? WHERE num = ?"

// Emptied is the SET clause for a deleted session whose records forks need.
const Emptied = `deleted = 1, title = '', summary = '', tag = '', first_prompt = '',
  project = '', cwd = '', git_branch = '', run = '', owner = '', trashed = ''`

// Values returns the values of the columns.
func (d *Dialect) Values(m *session.Meta) []any {
	created := m.CreatedAt.UTC()
	ns := created.Nanosecond() % int(time.Millisecond)
	deleted := int64(0)
	if m.Deleted {
		deleted = 1
	}
	return d.Params([]any{
		m.ID, m.Head, m.HeadDigest[:], m.UpdatedAt.UnixMilli(), created.UnixMilli(), int64(ns), int64(m.MessageCount), m.Size,
		m.Model, m.FirstPrompt, m.Title, m.Summary, m.Tag, m.Project, m.CWD, m.GitBranch, m.Parent, m.ParentSeq, deleted,
		int64(m.OpenApprovals), m.Run, m.Owner, m.Trashed,
	})
}

// Scan receives the columns of one row after another. A driver writes to the destinations that Dest
// returns; those for text are all *string or all *[]byte.
type Scan struct {
	text    [13]string
	bytes   [13][]byte
	digest  []byte
	numbers [9]int64
}

// The positions of the columns in a Scan, except the digest.
const (
	head, updated, created, nanos, messages, size, parentSeq, deleted, questions = 0, 1, 2, 3, 4, 5, 6, 7, 8

	id, model, prompt, title, summary, tag, project, cwd, branch, parent, run, owner, trashed = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
)

// Dest returns scan destinations for the columns, in their order. If bytes is true, text is scanned
// into []byte.
func (s *Scan) Dest(bytes bool) []any {
	text := func(i int) any {
		if bytes {
			return &s.bytes[i]
		}
		return &s.text[i]
	}
	n := &s.numbers
	return []any{
		text(id), &n[head], &s.digest, &n[updated], &n[created], &n[nanos], &n[messages], &n[size],
		text(model), text(prompt), text(title), text(summary), text(tag), text(project), text(cwd), text(branch),
		text(parent), &n[parentSeq], &n[deleted], &n[questions], text(run), text(owner), text(trashed),
	}
}

// Meta returns the last scanned row.
func (s *Scan) Meta() session.Meta {
	for i, b := range s.bytes {
		if b != nil {
			s.text[i] = string(b)
		}
	}
	n, t := &s.numbers, &s.text
	m := session.Meta{
		ID: t[id], Head: n[head], UpdatedAt: Time(n[updated]), CreatedAt: Time(n[created]).Add(time.Duration(n[nanos])),
		MessageCount: int(n[messages]), Size: n[size],
		Model: t[model], FirstPrompt: t[prompt], Title: t[title], Summary: t[summary], Tag: t[tag],
		Project: t[project], CWD: t[cwd], GitBranch: t[branch],
		Parent: t[parent], ParentSeq: n[parentSeq], Deleted: n[deleted] != 0,
		OpenApprovals: int(n[questions]), Run: t[run], Owner: t[owner], Trashed: t[trashed],
	}
	copy(m.HeadDigest[:], s.digest)
	return m
}

// Time converts a column of milliseconds.
func Time(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
