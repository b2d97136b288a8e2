package encrypted

import (
	"context"
	"errors"
	"iter"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// Read implements [session.Store]. For a record that cannot be decrypted it yields ErrCorrupt and
// continues with the next record. It yields ErrSealed if the session has another key.
func (s *Store) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		if s.life.Err() != nil {
			yield(session.Record{}, closed("read", id))
			return
		}
		o := recordOpener{s: s, ctx: ctx, id: id}
		for rec, err := range s.inner.Read(ctx, id, r) {
			if err == nil {
				err = o.open(&rec)
			}
			if err != nil {
				rec = session.Record{}
			}
			if !yield(rec, err) || err != nil && !errors.Is(err, session.ErrCorrupt) {
				return
			}
		}
	}
}

// recordOpener decrypts the records of one session.
type recordOpener struct {
	s      *Store
	ctx    context.Context
	id     string
	sealer *sessionSealer
}

func (o *recordOpener) open(r *session.Record) error {
	if r.Payload == nil {
		return nil
	}
	if !record.IsSealed(r.Payload) {
		if r.Kind == record.KindOpened {
			_, err := readFirst(o.id, r)
			return err
		}
		return damaged(o.id, r.Seq, "it is not encrypted: it was written without the key")
	}
	sealed, err := record.ReadSealed(r.Payload)
	if err != nil {
		return damaged(o.id, r.Seq, err.Error())
	}
	if o.sealer == nil || o.sealer.key != sealed.Key {
		if err := o.find(r, sealed); err != nil {
			return err
		}
	}
	plain, err := o.sealer.open(additionalData(o.id, r, sealed), sealed.Ciphertext)
	if err != nil {
		return damaged(o.id, r.Seq, "its payload cannot be decrypted: "+err.Error())
	}
	r.Payload = plain
	return nil
}

// find returns the data key of a record: its own for a first record, else the session's.
func (o *recordOpener) find(r *session.Record, sealed *record.Sealed) error {
	k := o.s.keys.get(sealed.Key)
	var err error
	switch {
	case k != nil:
	case r.Kind == record.KindOpened:
		k, err = o.s.keys.open(sealed)
	default:
		o.s.keys.forget(o.id)
		k, err = o.s.keyOf(o.ctx, o.id)
	}
	if err != nil {
		return named(err, o.id)
	}
	if k == nil || k.id != sealed.Key {
		return damaged(o.id, r.Seq, "it is encrypted with data key "+sealed.Key+", which is not the session's")
	}
	o.sealer, err = k.sealer(o.id)
	return err
}
