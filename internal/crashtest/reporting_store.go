package crashtest

import (
	"context"

	"github.com/holdfast-dev/holdfast/session"
)

// reportingStore reports everything that the inner store acknowledged. It also reports each delete
// before it begins.
type reportingStore struct {
	reportingAppends
}

var (
	_ session.Leaser  = reportingStore{}
	_ session.Eraser  = reportingStore{}
	_ session.Deleter = reportingStore{}
)

func (t reportingStore) Acquire(ctx context.Context, id string, l session.Lease, steal func(session.Lease) bool) (session.Lease, error) {
	leaser, ok := session.As[session.Leaser](t.Store)
	if !ok {
		return session.Lease{}, session.ErrUnsupported
	}
	got, err := leaser.Acquire(ctx, id, l, steal)
	if err == nil {
		t.report.Event(Event{What: Leased, Session: id, Numbers: []int64{got.Epoch}})
	}
	return got, err
}

func (t reportingStore) Renew(ctx context.Context, id string, l session.Lease) error {
	leaser, ok := session.As[session.Leaser](t.Store)
	if !ok {
		return session.ErrUnsupported
	}
	return leaser.Renew(ctx, id, l)
}

func (t reportingStore) Release(ctx context.Context, id string, l session.Lease) error {
	leaser, ok := session.As[session.Leaser](t.Store)
	if !ok {
		return session.ErrUnsupported
	}
	return leaser.Release(ctx, id, l)
}

func (t reportingStore) Held(ctx context.Context, id string) (*session.Lease, error) {
	leaser, ok := session.As[session.Leaser](t.Store)
	if !ok {
		return nil, session.ErrUnsupported
	}
	return leaser.Held(ctx, id)
}

func (t reportingStore) Erase(ctx context.Context, id string, epoch int64, seqs []int64) error {
	eraser, ok := session.As[session.Eraser](t.Store)
	if !ok {
		return session.ErrUnsupported
	}
	err := eraser.Erase(ctx, id, epoch, seqs)
	if err == nil {
		t.report.Event(Event{What: Erased, Session: id, Numbers: seqs})
	}
	return err
}

func (t reportingStore) Delete(ctx context.Context, id string) error {
	deleter, ok := session.As[session.Deleter](t.Store)
	if !ok {
		return session.ErrUnsupported
	}
	t.report.Event(Event{What: Deleting, Session: id})
	err := deleter.Delete(ctx, id)
	if err == nil {
		t.report.Event(Event{What: Deleted, Session: id})
	}
	return err
}
