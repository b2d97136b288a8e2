package mysql

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/session/rows"
	"github.com/holdfast-dev/holdfast/session"
)

// dialect is the dialect of MySQL and MariaDB. Text is sent as bytes, so that no character set is
// converted. Erased payloads are overwritten with zeros where they are stored in the row.
var dialect = rows.Dialect{
	Expanded: true,
	Text:     func(s string) any { return []byte(s) },
	Hint:     func(index string) string { return "FORCE INDEX (" + index + ") " },
	Epochs:   true,
	Clock:    clock,
	Renewed:  "CONCAT(?, " + clock + ", ?)",

	ForUpdate: " FOR UPDATE", ForShare: " LOCK IN SHARE MODE", LockLease: " FOR UPDATE",
	Overwrite: "REPEAT(CHAR(0), LENGTH(payload))",
}

// clock is the server's time in milliseconds.
const clock = "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)"

const (
	// maxText is the maximum size of the values, in bytes, that are sent as one text with their
	// statements. Escaping may double their size, which still fits in minPacket. Larger batches
	// are sent statement by statement, and a large payload is sent without escaping.
	maxText = 256 << 10
	// recordText is the size of a record in a text, without its strings.
	recordText = 256
	// packetReserve is the part of a packet that is reserved for everything except a payload.
	packetReserve = 64 << 10
	maxPayload    = 1<<30 - packetReserve

	insertRecords = "INSERT INTO records (num, " + rows.RecordColumns + ") VALUES "
	// ifAdvanced is the session's num if the preceding UPDATE found the row that the batch
	// expects. Otherwise it is NULL, which the table rejects.
	ifAdvanced = "(IF(ROW_COUNT() = 1, LAST_INSERT_ID(), NULL), ?, ?, ?, ?, ?, ?)"
	advanced   = "(LAST_INSERT_ID(), ?, ?, ?, ?, ?, ?)"
	withNum    = "(?, ?, ?, ?, ?, ?, ?)"
)

// Append implements [session.Store].
func (s *Store) Append(ctx context.Context, id string, b session.Batch) error {
	if err := s.check(id, &b); err != nil {
		return err
	}
	var err error
	switch {
	case b.Delta.Opened != nil:
		err = s.create(ctx, id, &b)
	case s.appendCall != nil && plain(&b):
		err = s.appendOne(ctx, id, &b)
	default:
		err = s.append(ctx, id, &b)
	}
	if err == nil {
		s.watchers.Notify(id)
	}
	return err
}

func (s *Store) check(id string, b *session.Batch) error {
	most := min(s.packet-packetReserve, maxPayload)
	for i := range b.Records {
		if r := &b.Records[i]; len(r.Payload) > most {
			return &session.Error{
				Op: "append", Session: id, Seq: r.Seq, Err: session.ErrInvalid,
				Detail: fmt.Sprintf("a payload of %d bytes is larger than the server's limit of %d (max_allowed_packet)", len(r.Payload), most),
				Hint:   fmt.Sprintf("SET GLOBAL max_allowed_packet = %d on the server (and in its configuration), then restart", len(r.Payload)+(1<<20)),
			}
		}
	}
	return rows.Check(id, b, maxPayload)
}

// plain reports whether the procedure can append a batch: it must be one record, written under a
// lease, that changes only the columns that items change.
func plain(b *session.Batch) bool {
	return len(b.Records) == 1 && b.Epoch != 0 && rows.IsItemsOnly(&b.Delta)
}

// appendOne appends with one procedure call.
func (s *Store) appendOne(ctx context.Context, id string, b *session.Batch) error {
	r, d := &b.Records[0], &b.Delta
	var model any
	if d.LastModel != "" {
		model = []byte(d.LastModel)
	}
	args := []any{
		[]byte(id), b.Expect, b.Epoch, d.Head, d.Digest[:], d.Updated.UnixMilli(), d.Bytes, int64(d.Messages),
		model, []byte(d.Prompt), []byte(r.ID), []byte(r.Kind), rows.Chain(r), rows.Payload(r),
	}
	return s.retry(ctx, "append", id, func(bool) error {
		_, err := s.appendCall.ExecContext(ctx, args...)
		if !isRefused(err) {
			return err
		}
		c, err := s.db.Conn(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		return (&tx{ctx: ctx, c: c}).refusal(id, b)
	})
}

// append appends in one transaction of several statements.
func (s *Store) append(ctx context.Context, id string, b *session.Batch) error {
	update := advance(id, b)
	small := textSize(update.Args, b.Records) <= maxText
	return s.withConn(ctx, "append", id, func(t *tx) error {
		var err error
		if small {
			err = t.appendText(update, b, s.compound)
		} else {
			err = t.appendSteps(update, b)
		}
		if isRefused(err) {
			t.rollback()
			return t.refusal(id, b)
		}
		return err
	})
}

// advance returns the statement that updates the session's row if the row has the values that b
// expects.
func advance(id string, b *session.Batch) *rows.Statement {
	u := dialect.Advance(&b.Delta)
	u.Add(", num = LAST_INSERT_ID(num) WHERE id = ? AND head = ? AND deleted = 0", id, b.Expect)
	if b.Epoch != 0 {
		u.Add(" AND epoch = ?", b.Epoch)
	}
	return u
}

// appendText sends all statements at once, as a compound statement if the server supports that: it
// then answers once instead of after each statement.
func (t *tx) appendText(update *rows.Statement, b *session.Batch, compound bool) error {
	var text strings.Builder
	if compound {
		text.WriteString("BEGIN NOT ATOMIC ")
	}
	text.WriteString("START TRANSACTION; ")
	text.WriteString(update.SQL())
	text.WriteString("; " + insertRecords)
	args := append(make([]any, 0, len(update.Args)+6*len(b.Records)), update.Args...)
	for i := range b.Records {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(ifAdvanced)
		args = append(args, recordArgs(&b.Records[i])...)
	}
	text.WriteString("; COMMIT")
	if compound {
		text.WriteString("; END")
	}
	t.begun = true
	if _, err := t.exec(text.String(), args...); err != nil {
		return err
	}
	t.begun = false
	return nil
}

// appendSteps sends the statements one by one.
func (t *tx) appendSteps(update *rows.Statement, b *session.Batch) error {
	if err := t.begin(); err != nil {
		return err
	}
	if _, err := t.exec(update.SQL(), update.Args...); err != nil {
		return err
	}
	values := ifAdvanced
	for rest := b.Records; len(rest) > 0; values = advanced {
		n, size := 1, textSize(nil, rest[:1])
		for n < len(rest) && size+textSize(nil, rest[n:n+1]) <= maxText {
			size += textSize(nil, rest[n:n+1])
			n++
		}
		var args []any
		for i := range rest[:n] {
			args = append(args, recordArgs(&rest[i])...)
		}
		if _, err := t.exec(insertRecords+values+strings.Repeat(", "+values, n-1), args...); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return t.commit()
}

// textSize returns the size of values and records in a text of statements, before escaping.
func textSize(values []any, records []session.Record) int {
	n := 0
	for _, v := range values {
		if b, ok := v.([]byte); ok {
			n += len(b)
		}
	}
	for i := range records {
		r := &records[i]
		n += len(r.ID) + len(r.Kind) + len(r.Payload) + recordText
	}
	return n
}

func recordArgs(r *session.Record) []any {
	return []any{r.Seq, []byte(r.ID), r.Time.UnixMilli(), []byte(r.Kind), rows.Chain(r), rows.Payload(r)}
}

// insert adds records to a session in a transaction.
func (t *tx) insert(num int64, records []session.Record) error {
	for i := range records {
		if _, err := t.exec(insertRecords+withNum, append([]any{num}, recordArgs(&records[i])...)...); err != nil {
			return err
		}
	}
	return nil
}

// refusal returns why a batch could not be appended, or nil if it is already stored.
func (t *tx) refusal(id string, b *session.Batch) error {
	again, err := dialect.Refusal(t, id, b)
	switch {
	case err != nil:
		return err
	case again:
		return errAgain
	}
	return t.syncVisible()
}

// syncVisible makes sure that all data that other connections can see is on disk. InnoDB shows a
// commit to others before it has synced it, but a later commit syncs all earlier ones. syncVisible
// therefore commits a change whose only effect is that an epoch is skipped.
func (t *tx) syncVisible() error {
	_, err := t.exec("UPDATE epochs SET last = last + 1 WHERE one = 1")
	return err
}
