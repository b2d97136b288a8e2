package audit

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// TrailOptions adjusts [OpenTrail].
type TrailOptions struct {
	Clock func() time.Time // default time.Now
	// Name is what checkpoints are signed as; default the host's name.
	Name string
}

// Trail is the evidence that lies beside a store: what each log said, when. Several
// programs may append to one trail at once. It is a [session.Witness] and safe for
// concurrent use.
type Trail struct{ trail }

// OpenTrail opens the trail in a folder, and makes it (0700) when there is none.
func OpenTrail(dir string, o *TrailOptions) (*Trail, error) { return openTrail(dir, o) }

// Appended implements [session.Witness].
func (t *Trail) Appended(ctx context.Context, id string, head session.Record) error {
	return t.appended(ctx, id, head)
}

// Deleted implements [session.Witness].
func (t *Trail) Deleted(ctx context.Context, id string) error { return t.deleted(ctx, id) }

// Checkpoint signs what the trail holds now and returns the signed note.
func (t *Trail) Checkpoint() ([]byte, error) { return t.checkpoint() }

// Dir is the trail's folder.
func (t *Trail) Dir() string { return t.dir() }

// Close signs a checkpoint when there is anything new, and closes the trail.
func (t *Trail) Close() error { return t.close() }

type trail struct{}

func openTrail(string, *TrailOptions) (*Trail, error) { return nil, errors.New("audit: not built") }

func (t *trail) appended(context.Context, string, session.Record) error {
	return errors.New("audit: not built")
}
func (t *trail) deleted(context.Context, string) error { return errors.New("audit: not built") }
func (t *trail) checkpoint() ([]byte, error)           { return nil, errors.New("audit: not built") }
func (t *trail) dir() string                           { return "" }
func (t *trail) close() error                          { return nil }
