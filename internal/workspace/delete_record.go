package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendoragent"
	"github.com/holdfast-dev/holdfast/session"
)

// busyWait is how long a deletion waits for the process that holds a session. The agent of that
// process no longer exists, so its turn ends soon.
const busyWait = 10 * time.Second

// recordDeletion records in a session's log that its workspace was deleted. It returns false if the
// log already contains such a record.
func (d *deletion) recordDeletion(ctx context.Context, sessions *session.Sessions, id string) (bool, error) {
	want := vendoragent.Event{Event: vendoragent.EventDeleted, Workspace: d.slug, WorkspaceID: d.id}
	if d.again {
		if recorded, err := d.isRecorded(ctx, sessions, id, want); recorded || err != nil {
			return false, err
		}
	}
	log, err := openWhenFree(ctx, sessions, id)
	if err != nil {
		return false, err
	}
	draft, err := session.NewDraft(record.KindWorkspaceEvent, want)
	if err == nil {
		_, err = log.Append(ctx, draft)
	}
	return err == nil, errors.Join(err, log.Close())
}

// openWhenFree opens a session for writing and waits a while for its current holder.
func openWhenFree(ctx context.Context, sessions *session.Sessions, id string) (*session.Log, error) {
	ctx, cancel := context.WithTimeout(ctx, busyWait)
	defer cancel()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		log, err := sessions.Open(ctx, id, &session.OpenOptions{Trashed: true})
		if err == nil || !errors.Is(err, session.ErrBusy) {
			return log, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(wait):
		}
	}
}

// isRecorded searches the log backwards for the record that an earlier attempt has written.
func (d *deletion) isRecorded(ctx context.Context, sessions *session.Sessions, id string, want vendoragent.Event) (bool, error) {
	for r, err := range sessions.Store().Read(ctx, id, session.Range{Reverse: true}) {
		if errors.Is(err, session.ErrCorrupt) {
			continue
		}
		if err != nil {
			return false, err
		}
		if r.Kind != record.KindWorkspaceEvent {
			continue
		}
		var got vendoragent.Event
		if json.Unmarshal(r.Payload, &got) == nil && got == want {
			return true, nil
		}
	}
	return false, nil
}
