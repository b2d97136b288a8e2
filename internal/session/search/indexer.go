package search

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/session/searchtext"
	"github.com/holdfast-dev/holdfast/session"
)

// batch is the amount of text in one transaction.
const batch = 4 << 20

// Index updates the index from the store: new records, erased records, deleted sessions. If
// several callers index at once, one does the work of each session. It can be interrupted at any
// time and continues later. A session encrypted with another key is left out and stays among those
// not indexed.
func (x *Index) Index(ctx context.Context) error {
	page, err := x.store.List(ctx, session.Query{Worktrees: true, WithTrash: true})
	if err != nil {
		return err
	}
	known, err := x.known(ctx)
	if err != nil {
		return failed("index", err)
	}
	erased := false
	for i := range page.Sessions {
		m := &page.Sessions[i]
		was, ok := known[m.ID]
		delete(known, m.ID)
		if ok && was.isCurrent(m) || m.Lost() {
			continue
		}
		cleared, err := x.indexSession(ctx, m)
		erased = erased || cleared
		if err != nil && !skipsSession(err) {
			return failed("index", err)
		}
	}
	for _, gone := range known {
		if err := x.transact(ctx, func(tx *sql.Tx) error { return forget(ctx, tx, gone.num) }); err != nil {
			return failed("index", err)
		}
		erased = true
	}
	if !erased {
		return nil
	}
	if err := x.purge(ctx); err != nil {
		return failed("index", err)
	}
	return nil
}

// Forget removes a session from the index and its words from the file. If the session still
// exists, the next Index adds it again.
func (x *Index) Forget(ctx context.Context, id string) error {
	found := false
	err := x.transact(ctx, func(tx *sql.Tx) error {
		_, s, err := scanState(tx.QueryRowContext(ctx, selectState+" WHERE id = ?", id))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		found = true
		return forget(ctx, tx, s.num)
	})
	if err == nil && found {
		err = x.purge(ctx)
	}
	if err != nil {
		return failed("forget", err)
	}
	return nil
}

// purge removes deleted words from the file: they are gone only after the index is merged and the
// journal checkpointed.
func (x *Index) purge(ctx context.Context) error {
	for _, s := range []string{"INSERT INTO words (words) VALUES ('optimize')", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if _, err := x.db.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// skipsSession reports whether an error concerns only one session, which is then left out: it was
// deleted meanwhile, or its key is missing.
func skipsSession(err error) bool {
	return errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrSealed)
}

// state is the indexed state of a session.
type state struct {
	num, head  int64
	digest     session.Digest
	title, cwd string
	project    string
	trashed    bool
	uses       string // Uses of the searchtext.Reader, as JSON
}

// isCurrent reports whether the session has not changed since it was indexed.
func (s *state) isCurrent(m *session.Meta) bool {
	return s.head == m.Head && s.digest == m.HeadDigest &&
		s.title == titleOf(m) && s.cwd == m.CWD && s.project == m.Project && s.trashed == (m.Trashed != "")
}

func titleOf(m *session.Meta) string {
	if m.Title != "" {
		return m.Title
	}
	return m.FirstPrompt
}

const selectState = "SELECT num, id, head, digest, uses, title, project, cwd, trashed FROM sessions"

func scanState(row interface{ Scan(...any) error }) (id string, s state, err error) {
	var digest []byte
	err = row.Scan(&s.num, &id, &s.head, &digest, &s.uses, &s.title, &s.project, &s.cwd, &s.trashed)
	copy(s.digest[:], digest)
	return id, s, err
}

// known returns the indexed state of each session, by id.
func (x *Index) known(ctx context.Context) (map[string]state, error) {
	rows, err := x.db.QueryContext(ctx, selectState)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := map[string]state{}
	for rows.Next() {
		id, s, err := scanState(rows)
		if err != nil {
			return nil, err
		}
		known[id] = s
	}
	return known, rows.Err()
}

func (x *Index) transact(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // no effect after the commit
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// indexSession indexes the new records of a log in batches. The result erased is true if words were
// removed.
func (x *Index) indexSession(ctx context.Context, m *session.Meta) (erased bool, err error) {
	for done := false; !done; {
		err := x.transact(ctx, func(tx *sql.Tx) error {
			f := indexer{ctx: ctx, tx: tx, m: m}
			err := f.begin()
			if err == nil {
				done, err = f.read(x.store)
			}
			if err == nil {
				err = f.end()
			}
			erased = erased || f.erased
			return err
		})
		if err != nil {
			return erased, err
		}
	}
	return erased, nil
}

// indexer indexes one batch of a log.
type indexer struct {
	ctx    context.Context
	tx     *sql.Tx
	m      *session.Meta
	s      state
	reader searchtext.Reader
	erased bool
}

// begin reads the indexed state, which another process may have changed.
func (f *indexer) begin() error {
	_, s, err := scanState(f.tx.QueryRowContext(f.ctx, selectState+" WHERE id = ?", f.m.ID))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return f.create()
	case err != nil:
		return err
	case s.head > f.m.Head || s.head == f.m.Head && s.digest != f.m.HeadDigest: // another session with this id
		f.erased = true
		if err := forget(f.ctx, f.tx, s.num); err != nil {
			return err
		}
		return f.create()
	}
	f.s = s
	return json.Unmarshal([]byte(s.uses), &f.reader.Uses)
}

func (f *indexer) create() error {
	r, err := f.tx.ExecContext(f.ctx, "INSERT INTO sessions (id, head, digest, uses, title, project, cwd, trashed) VALUES (?, ?, x'', '{}', '', '', '', 0)",
		f.m.ID, f.m.ParentSeq)
	if err != nil {
		return err
	}
	f.s = state{head: f.m.ParentSeq}
	f.s.num, err = r.LastInsertId()
	return err
}

// read adds records until the log ends or the batch is large enough.
func (f *indexer) read(store session.Store) (done bool, err error) {
	size := 0
	for r, err := range store.Read(f.ctx, f.m.ID, session.Range{After: f.s.head, Until: f.m.Head}) {
		if e, ok := errors.AsType[*session.Error](err); ok && errors.Is(err, session.ErrCorrupt) {
			if e.Seq > f.s.head { // the other records can still be found
				f.s.head, f.s.digest = e.Seq, session.Digest{}
			}
			continue
		}
		if err != nil {
			return false, err
		}
		if f.s.head == r.Seq-1 && !f.s.digest.IsZero() && f.s.digest != r.Prev {
			return false, f.reset()
		}
		n, err := f.take(&r)
		if err != nil {
			return false, err
		}
		f.s.head, f.s.digest = r.Seq, r.Digest
		if size += n; size >= batch {
			return r.Seq >= f.m.Head, nil
		}
	}
	if f.s.head == f.m.Head { // even if the last record is damaged
		f.s.digest = f.m.HeadDigest
	}
	return true, nil
}

// reset removes the indexed state of a session, because another session has its id.
func (f *indexer) reset() error {
	f.erased = true
	if err := forget(f.ctx, f.tx, f.s.num); err != nil {
		return err
	}
	f.reader = searchtext.Reader{}
	return f.create()
}

// take indexes a record and returns the approximate size of its text.
func (f *indexer) take(r *session.Record) (int, error) {
	for _, seq := range searchtext.Erased(r) {
		f.erased = true
		if err := drop(f.ctx, f.tx, "num = ? AND seq = ?", f.s.num, seq); err != nil {
			return 0, err
		}
	}
	size := 64
	for _, e := range f.reader.Read(r) {
		size += len(e.Text)
		if err := f.add(r, &e); err != nil {
			return size, err
		}
	}
	return size, nil
}

func (f *indexer) add(r *session.Record, e *searchtext.Entry) error {
	parts, err := json.Marshal(e.Parts)
	if err != nil {
		return err
	}
	row, err := f.tx.ExecContext(f.ctx, "INSERT INTO entries (num, seq, origin, time_ms, role, tool, whole, parts) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		f.s.num, e.Seq, e.TextSeq, r.Time.UnixMilli(), e.Role, e.Tool, e.Complete, string(parts))
	if err != nil {
		return err
	}
	at, err := row.LastInsertId()
	if err != nil {
		return err
	}
	_, err = f.tx.ExecContext(f.ctx, "INSERT INTO words (rowid, text) VALUES (?, ?)", at, folded(e.Text))
	return err
}

// folded returns the words of a text, separated by one space.
func folded(text string) string {
	var b bytes.Buffer
	for t := range searchtext.Tokens(text) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.Write(t.Word)
	}
	return b.String()
}

// end stores the indexed state.
func (f *indexer) end() error {
	uses := "{}"
	if len(f.reader.Uses) > 0 {
		b, err := json.Marshal(f.reader.Uses)
		if err != nil {
			return err
		}
		uses = string(b)
	}
	_, err := f.tx.ExecContext(f.ctx, "UPDATE sessions SET head = ?, digest = ?, uses = ?, title = ?, project = ?, cwd = ?, trashed = ? WHERE num = ?",
		f.s.head, f.s.digest[:], uses, titleOf(f.m), f.m.Project, f.m.CWD, f.m.Trashed != "", f.s.num)
	return err
}

// drop removes entries.
func drop(ctx context.Context, tx *sql.Tx, where string, args ...any) error {
	for _, s := range []string{"DELETE FROM words WHERE rowid IN (SELECT row FROM entries WHERE " + where + ")", "DELETE FROM entries WHERE " + where} {
		if _, err := tx.ExecContext(ctx, s, args...); err != nil {
			return err
		}
	}
	return nil
}

// forget removes a session.
func forget(ctx context.Context, tx *sql.Tx, num int64) error {
	if err := drop(ctx, tx, "num = ?", num); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE num = ?", num)
	return err
}

// match returns the words as an FTS5 query: every token is quoted, so that no character has a
// special meaning.
func match(words searchtext.Words) string {
	terms := make([]string, len(words))
	for i, t := range words {
		terms[i] = `"` + strings.Join(t.Tokens, " ") + `"`
		if t.Prefix {
			terms[i] += " *"
		}
	}
	return strings.Join(terms, " AND ")
}
