package session

import "context"

// Relay appends a batch that another process has sealed and sent here, as its [Log]
// would append it to the store: nothing of it is taken on trust. The records must fit
// their digests and follow each other, the change of the meta is computed from them, and
// the witness is told before Relay returns. Whether they follow the log's head, and
// whose lease it is, the store compares. Errors: those of [Store].Append, and ErrCorrupt
// for records that do not fit.
//
// When the witness could not be told, or it stays open whether the batch was written,
// relaying the same batch again is safe.
func (s *Sessions) Relay(ctx context.Context, id string, b Batch) error {
	if err := CheckID(id); err != nil {
		return err
	}
	if len(b.Records) == 0 {
		return &Error{Op: "append", Session: id, Err: ErrInvalid, Detail: "the batch is empty"}
	}
	for i := range b.Records {
		r := &b.Records[i]
		var err error
		switch {
		case !r.Kind.known():
			err = &Error{Op: "append", Seq: r.Seq, Err: ErrNewer, Detail: "a record of kind " + string(r.Kind)}
		case i == 0:
			err = r.Check()
		default:
			err = r.CheckAfter(&b.Records[i-1])
		}
		if err != nil {
			return err
		}
	}
	if b.Records[0].Seq != b.Expect+1 {
		return &Error{Op: "append", Session: id, Seq: b.Records[0].Seq, Err: ErrInvalid, Detail: "the batch does not begin behind the head that it expects"}
	}
	var err error
	if b.Delta, err = Fold(b.Records); err != nil {
		return &Error{Op: "append", Session: id, Err: ErrInvalid, Detail: err.Error()}
	}
	if err := s.store.Append(ctx, id, b); err != nil {
		return err
	}
	return s.witnessed(ctx, id, b.Records[len(b.Records)-1])
}
