package redis

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// memberTime formats a creation time for the start of an index member, so that members sort by
// bytes.
func memberTime(created time.Time) string {
	return fmt.Sprintf("%016x", uint64(created.UnixNano())^1<<63)
}

func decimal(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// metaFields returns the fields of a session's hash as alternating names and values. Empty fields
// are not stored. Deleted is not included, because it cannot be derived from the log.
func metaFields(m *session.Meta) []any {
	return []any{
		"at", memberTime(m.CreatedAt), "created", m.CreatedAt.UTC().Format(time.RFC3339Nano),
		"updated", strconv.FormatInt(m.UpdatedAt.UnixMilli(), 10),
		"head", strconv.FormatInt(m.Head, 10), "digest", m.HeadDigest[:],
		"messages", decimal(int64(m.MessageCount)), "size", decimal(m.Size), "questions", decimal(int64(m.OpenApprovals)),
		"model", m.Model, "prompt", m.FirstPrompt, "title", m.Title, "summary", m.Summary, "tag", m.Tag,
		"project", m.Project, "cwd", m.CWD, "branch", m.GitBranch, "run", m.Run, "owner", m.Owner,
		"trashed", m.Trashed, "parent", m.Parent, "parent_seq", decimal(m.ParentSeq),
	}
}

// scanMeta reads the hash of a session; found is false if there is none.
func scanMeta(id string, fields []any) (m session.Meta, found bool, err error) {
	if len(fields) == 0 {
		return m, false, nil
	}
	f := make(map[string]string, len(fields)/2)
	for i := 0; i+1 < len(fields); i += 2 {
		name, _ := fields[i].(string)
		f[name], _ = fields[i+1].(string)
	}
	var bad []string
	number := func(name string) int64 {
		n, err := strconv.ParseInt(f[name], 10, 64)
		if err != nil && f[name] != "" {
			bad = append(bad, name)
		}
		return n
	}
	m = session.Meta{
		ID: id, Head: number("head"), UpdatedAt: time.UnixMilli(number("updated")).UTC(),
		MessageCount: int(number("messages")), Size: number("size"), OpenApprovals: int(number("questions")),
		Model: f["model"], FirstPrompt: f["prompt"], Title: f["title"], Summary: f["summary"], Tag: f["tag"],
		Project: f["project"], CWD: f["cwd"], GitBranch: f["branch"], Run: f["run"], Owner: f["owner"],
		Trashed: f["trashed"], Parent: f["parent"], ParentSeq: number("parent_seq"), Deleted: f["deleted"] != "",
	}
	if m.CreatedAt, err = time.Parse(time.RFC3339Nano, f["created"]); err != nil {
		bad = append(bad, "created")
	}
	if copy(m.HeadDigest[:], f["digest"]) != len(m.HeadDigest) {
		bad = append(bad, "digest")
	}
	if len(bad) > 0 {
		return m, true, &session.Error{
			Op: "list", Session: id, Err: session.ErrCorrupt, Detail: fmt.Sprintf("its metadata has an invalid %s", bad),
			Hint: "holdfast sessions repair " + id,
		}
	}
	return m, true, nil
}

// meta reads the meta of one session.
func (s *Store) meta(ctx context.Context, op, id string) (session.Meta, bool, error) {
	out, err := s.run(ctx, op, id, lookScript())
	if err != nil {
		return session.Meta{}, false, err
	}
	return scanMeta(id, out.list(1))
}

// PutMeta implements [session.Rebuilder]. It returns ErrConflict if the meta's head or fork point
// is not that of the current log. The deleted flag cannot be derived from the log, so it is left
// unchanged.
func (s *Store) PutMeta(ctx context.Context, m session.Meta) error {
	_, err := s.write(ctx, "put meta", m.ID, putMetaScript(),
		append([]any{m.Head, m.ParentSeq}, metaFields(&m)...)...)
	return err
}
