package session

import "context"

// Relay appends a batch that another process sealed and sent to this one, as the [Log] of that
// process would append it. It does not trust the batch: the records must match their digests and
// follow each other, the change of the meta is computed from them, and the [AppendObserver] is
// called before Relay returns. The store checks the log's head and the lease. Errors: those of
// [Store].Append, and ErrCorrupt for records that do not match.
//
// If the observer fails, or it is unknown whether the batch was written, relaying the same batch
// again is safe.
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
		return &Error{Op: "append", Session: id, Seq: b.Records[0].Seq, Err: ErrInvalid, Detail: "the batch does not start right after the head it expects"}
	}
	var err error
	if b.Delta, err = Fold(b.Records); err != nil {
		return &Error{Op: "append", Session: id, Err: ErrInvalid, Detail: err.Error()}
	}
	if err := s.store.Append(ctx, id, b); err != nil {
		return err
	}
	return s.observeAppend(ctx, id, b.Records[len(b.Records)-1])
}
