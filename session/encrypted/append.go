package encrypted

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// Append implements [session.Store].
func (s *Store) Append(ctx context.Context, id string, b session.Batch) error {
	if s.life.Err() != nil {
		return closed("append", id)
	}
	if len(b.Records) == 0 {
		return &session.Error{Op: "append", Session: id, Err: session.ErrInvalid, Detail: "the batch has no records"}
	}
	var (
		k   *dataKey
		err error
	)
	creates := b.Delta.Opened != nil
	if creates {
		k = s.keys.newKey()
	} else if k, err = s.keyOf(ctx, id); err != nil {
		return err
	}
	if k == nil {
		return damaged(id, b.Expect, "the session has no first record")
	}
	sealed, err := k.batch(id, b)
	if err != nil {
		return err
	}
	if err := s.inner.Append(ctx, id, sealed); err != nil {
		return err
	}
	if creates {
		s.keys.forget(id) // a retry may have found a session with another key
	}
	return nil
}

// batch encrypts a batch.
func (k *dataKey) batch(id string, b session.Batch) (session.Batch, error) {
	box, err := k.sealer(id)
	if err != nil {
		return b, err
	}
	records := make([]session.Record, len(b.Records))
	for i := range b.Records {
		if records[i], err = k.record(box, id, b.Records[i]); err != nil {
			return b, err
		}
	}
	b.Records = records
	b.Delta, err = session.Fold(records)
	return b, err
}

// record encrypts a record. An erased record is left unchanged.
func (k *dataKey) record(b *sessionSealer, id string, r session.Record) (session.Record, error) {
	if r.Payload == nil {
		return r, nil
	}
	refuse := func(detail, hint string) (session.Record, error) {
		return r, &session.Error{Op: "append", Session: id, Seq: r.Seq, Err: session.ErrInvalid, Detail: detail, Hint: hint}
	}
	instead, masked := record.ReadMasked(r.Payload)
	if record.IsSealed(r.Payload) && !masked {
		return refuse("the payload is already encrypted", "open the source store with its key")
	}
	if r.Masked {
		return refuse("the payload is masked", "wrap this store with package redacting")
	}
	d, err := session.Fold([]session.Record{r})
	if err != nil {
		return refuse(err.Error(), "")
	}
	b.delta(&d)
	box := record.Sealed{Key: k.id}
	if box.Delta, err = json.Marshal(d); err != nil {
		return refuse(err.Error(), "")
	}
	switch r.Kind {
	case record.KindOpened:
		box.Wrapped, box.Mark = k.wrapped, k.mark
	case record.KindRedacted:
		if !masked {
			instead = r.Payload
		}
		var p record.Redacted
		if err := json.Unmarshal(instead, &p); err != nil {
			return refuse(err.Error(), "")
		}
		box.Seqs = p.Seqs
	}
	box.Ciphertext = b.seal(additionalData(id, &r, &box), r.Payload)
	r.Payload, err = box.Payload()
	return r, err
}

// additionalData is the additional data that binds an encrypted payload to its record and to the
// plain fields next to it. The digest binds it to every earlier record.
func additionalData(id string, r *session.Record, s *record.Sealed) []byte {
	b := make([]byte, 0, 256+len(s.Delta))
	b = append(b, "record\n"...)
	b = strconv.AppendQuote(b, id)
	b = append(b, '\n')
	b = strconv.AppendInt(b, r.Seq, 10)
	b = append(b, '\n')
	b = append(b, r.Kind...)
	b = append(b, '\n')
	b = append(b, r.Digest[:]...)
	for _, seq := range s.Seqs {
		b = strconv.AppendInt(b, seq, 10)
		b = append(b, ',')
	}
	b = append(b, '\n')
	return append(b, s.Delta...)
}

// textFields are the names of a meta's texts, in the order of [session.Meta.Texts].
var textFields = []string{"title", "summary", "first_prompt", "tag", "cwd", "project", "model", "git_branch"}

// delta encrypts the texts of a delta.
func (b *sessionSealer) delta(d *session.Delta) {
	put := func(field string, text *string) {
		if text != nil {
			*text = b.sealText(field, *text)
		}
	}
	put("first_prompt", &d.Prompt)
	put("model", &d.LastModel)
	if d.Replaced != nil {
		text := *d.Replaced
		put("first_prompt", &text)
		d.Replaced = &text
	}
	if o := d.Opened; o != nil {
		o.User = "" // lists do not show it
		for field, text := range map[string]*string{
			"project": &o.Project, "cwd": &o.CWD, "model": &o.Model, "git_branch": &o.GitBranch,
			"title": &o.Title, "summary": &o.Summary, "tag": &o.Tag, "first_prompt": &o.Prompt,
		} {
			put(field, text)
		}
	}
	if p := d.Patch; p != nil {
		p.By = ""
		for field, text := range map[string]*string{
			"title": p.Title, "summary": p.Summary, "tag": p.Tag, "cwd": p.CWD, "project": p.Project, "model": p.Model, "git_branch": p.GitBranch,
		} {
			put(field, text)
		}
	}
}
