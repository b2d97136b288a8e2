package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/session/rows"
	"github.com/holdfast-dev/holdfast/internal/session/searchtext"
	"github.com/holdfast-dev/holdfast/session"
)

// Limits of one indexing step, which is one transaction.
const (
	stepEntries = 500
	stepBytes   = 4 << 20
	stepRecords = 20_000
)

// maxWords is the maximum size of a text's words in the index: PostgreSQL's limit is just below
// 1 MiB. A text with more words is indexed as moreWords, and every search reads the whole text.
const (
	maxWords  = 1<<20 - 1<<14
	moreWords = "%" // a word that occurs in no text
)

// Index implements [session.Searcher]. If several programs index at once, one does the work and
// the others wait for it on their own connections, so that reads need not wait for them. Each step
// is stored completely or not at all; after a deadlock with a delete, indexing continues from the
// last step.
func (s *Store) Index(ctx context.Context) error {
	return s.try(ctx, "index", "", func(bool) (ran bool, err error) {
		c, err := pgx.ConnectConfig(ctx, s.at.config.ConnConfig)
		if err != nil {
			return false, err
		}
		defer func() { _ = c.Close(context.WithoutCancel(ctx)) }() // which releases the lock
		if _, err = c.Exec(ctx, `SELECT pg_advisory_lock($1)`, s.key("index")); err == nil {
			err = s.index(ctx, c)
		}
		return true, err
	})
}

// notIndexed selects the sessions whose newest records are not indexed.
const notIndexed = ` FROM sessions s LEFT JOIN indexed i ON i.num = s.num
WHERE s.deleted = 0 AND s.head > coalesce(i.head, s.parent_seq)`

func (s *Store) index(ctx context.Context, c *pgx.Conn) error {
	if _, err := c.Exec(ctx, `WITH gone AS (DELETE FROM indexed i
  WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.num = i.num AND s.deleted = 0) RETURNING num)
DELETE FROM search WHERE num IN (SELECT num FROM gone)`); err != nil {
		return err
	}
	found, err := c.Query(ctx, `SELECT s.num, s.id, coalesce(i.head, s.parent_seq), coalesce(i.uses, '')`+notIndexed+` ORDER BY s.num`)
	if err != nil {
		return err
	}
	var all []*indexing
	for found.Next() {
		var x indexing
		var id []byte
		var uses string
		if err := found.Scan(&x.num, &id, &x.head, &uses); err != nil {
			return err
		}
		x.id = string(id)
		_ = json.Unmarshal([]byte(uses), &x.reader.Uses) // without the tool uses, their results have no tool name
		all = append(all, &x)
	}
	found.Close()
	if err := found.Err(); err != nil {
		return err
	}
	for _, x := range all {
		if err := s.indexSession(ctx, c, x); err != nil && !errors.Is(err, session.ErrNotFound) { // deleted in the meantime
			return err
		}
	}
	return nil
}

// indexing is a session being indexed, with the step that is not yet stored.
type indexing struct {
	num     int64
	id      string
	head    int64 // indexed up to this seq
	reader  searchtext.Reader
	entries []searchtext.Entry
	erased  []int64
	bytes   int
	records int
}

func (s *Store) indexSession(ctx context.Context, c *pgx.Conn, x *indexing) error {
	for r, err := range s.Read(ctx, x.id, session.Range{After: x.head}) {
		if err != nil && r.Seq == 0 { // reading failed, not a single record
			return err
		}
		if err == nil {
			x.add(&r)
		}
		x.head = max(x.head, r.Seq)
		if x.records++; len(x.entries) >= stepEntries || x.bytes >= stepBytes || x.records >= stepRecords {
			if err := s.storeStep(ctx, c, x); err != nil {
				return err
			}
		}
	}
	if x.records == 0 {
		return nil
	}
	return s.storeStep(ctx, c, x)
}

func (x *indexing) add(r *session.Record) {
	if seqs := searchtext.Erased(r); len(seqs) > 0 {
		x.erased = append(x.erased, seqs...)
		x.entries = slices.DeleteFunc(x.entries, func(e searchtext.Entry) bool { return slices.Contains(seqs, e.Seq) })
	}
	for _, e := range x.reader.Read(r) {
		x.bytes += len(e.Text)
		x.entries = append(x.entries, e)
	}
}

// insertEntry uses the time of the item, which may be older than the record with its replacement.
const insertEntry = `INSERT INTO search (num, seq, source, time_ms, role, tool, whole, parts, words)
SELECT num, seq, $3, time_ms, $4, $5, $6, $7, $8::text::tsvector FROM records WHERE num = $1 AND seq = $2
AND EXISTS (SELECT 1 FROM records WHERE num = $1 AND seq = $3 AND payload IS NOT NULL)`

// storeStep stores a step completely or not at all, without texts erased since they were read.
func (s *Store) storeStep(ctx context.Context, c *pgx.Conn, x *indexing) error {
	uses, err := json.Marshal(x.reader.Uses)
	if err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockKey, s.key("words\x00"+x.id)); err != nil { // as Erase does
			return err
		}
		var there bool // the session is locked, so that it is not deleted before this step is stored
		err := tx.QueryRow(ctx, `SELECT true FROM sessions WHERE num = $1 AND deleted = 0 FOR KEY SHARE`, x.num).Scan(&there)
		if errors.Is(err, pgx.ErrNoRows) {
			return rows.NotFound("index", x.id)
		}
		if err != nil {
			return err
		}
		var b pgx.Batch
		if len(x.erased) > 0 {
			b.Queue(`DELETE FROM search WHERE num = $1 AND seq = ANY($2)`, x.num, x.erased)
		}
		for i := range x.entries {
			e := &x.entries[i]
			parts := e.Parts
			if parts == nil {
				parts = []int{}
			}
			b.Queue(insertEntry, x.num, e.Seq, e.TextSeq, e.Role, []byte(e.Tool), e.Complete, parts, vector(e.Text))
		}
		b.Queue(`INSERT INTO indexed (num, head, uses) VALUES ($1, $2, $3)
ON CONFLICT (num) DO UPDATE SET head = excluded.head, uses = excluded.uses`, x.num, x.head, string(uses))
		return tx.SendBatch(ctx, &b).Close()
	})
	x.entries, x.erased, x.bytes, x.records = nil, nil, 0, 0
	return err
}

// vector returns the tsvector of a text's words without positions: positions are found in the text
// itself.
func vector(text string) string {
	words := map[string]bool{}
	size := 0
	var b strings.Builder
	for t := range searchtext.Tokens(text) {
		if words[string(t.Word)] {
			continue
		}
		if size += len(t.Word) + 1; size > maxWords {
			b.WriteString("'" + moreWords + "'")
			break
		}
		words[string(t.Word)] = true
		b.WriteByte('\'')
		b.Write(t.Word)
		b.WriteString("' ")
	}
	return b.String()
}
