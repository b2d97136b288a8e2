package vendoragent

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Mapping is the payload of a vendor.mapped record. It says that from this record on the vendor's
// session with this id belongs to the Holdfast session. Each generation has a new id, which was
// never used before.
type Mapping struct {
	Vendor      string `json:"vendor"`
	Session     string `json:"session"` // the vendor's id of its session; "" until the vendor reports it
	Generation  int    `json:"generation"`
	Workspace   string `json:"workspace,omitempty"`
	WorkspaceID string `json:"workspace_id,omitempty"`
	// Reason says why there is a new session of the vendor: "new", or what was wrong with the
	// previous one.
	Reason string `json:"reason"`
}

// The workspace events.
const (
	EventResumeFailed = "resume_failed" // the vendor's session could not be resumed
	EventVendorEnded  = "vendor_ended"  // the vendor's process ended during a turn
	EventDeleted      = "deleted"       // the workspace was deleted; the session was kept
)

// Event is the payload of a workspace.event record.
type Event struct {
	Event       string `json:"event"`
	Workspace   string `json:"workspace,omitempty"`
	WorkspaceID string `json:"workspace_id,omitempty"`
	Vendor      string `json:"vendor,omitempty"`
	Session     string `json:"session,omitempty"` // the vendor's id
	Reason      string `json:"reason,omitempty"`
	OOM         bool   `json:"oom,omitempty"`    // the container ran out of memory
	Stderr      string `json:"stderr,omitempty"` // the last part of the process's standard error
}

// readMapping reads a record's mapping. ok is false for any other record, including a record that
// an import of a vendor's files has written.
func readMapping(r *session.Record) (m Mapping, ok bool) {
	if r.Kind != record.KindVendorMapped || r.Payload == nil || json.Unmarshal(r.Payload, &m) != nil {
		return Mapping{}, false
	}
	return m, m.Generation > 0
}

// vendorSessions has the information about the vendor's sessions in a session's log.
type vendorSessions struct {
	last     *Mapping // the newest mapping, or nil if it is not of this vendor and workspace
	changed  bool     // true if the transcript was rewritten after that mapping
	newest   int      // the latest generation, of any vendor and any workspace
	sessions map[string]bool
}

// vendorSessionsIn reads what a session's log says about the vendor's sessions. It reads only the
// session's own records. The records that a fork inherits describe the vendor session of the
// parent.
func vendorSessionsIn(ctx context.Context, s *session.Sessions, id, vendor, workspaceID string) (vendorSessions, error) {
	k := vendorSessions{sessions: map[string]bool{}}
	if s == nil || id == "" {
		return k, nil
	}
	meta, err := s.Get(ctx, id)
	if errors.Is(err, session.ErrNotFound) {
		return k, nil
	}
	if err != nil {
		return k, err
	}
	for r, err := range s.Records(ctx, id, session.Range{After: meta.ParentSeq}) {
		if err != nil {
			return k, err
		}
		switch r.Kind {
		case record.KindRewrite, record.KindRedacted:
			k.changed = true
		case record.KindVendorMapped:
			m, ok := readMapping(&r)
			if !ok {
				continue
			}
			k.newest = max(k.newest, m.Generation)
			k.sessions[m.Session] = true
			k.last, k.changed = nil, false
			if m.Vendor == vendor && m.WorkspaceID == workspaceID {
				k.last = &m
			}
		}
	}
	return k, nil
}

// metadataKey is the metadata key under which an item names the vendor's session that contains the
// item.
const metadataKey = "vendor"

// vendorMark is the value of metadataKey in an item's metadata.
type vendorMark struct {
	Name    string `json:"name"`
	Session string `json:"session"`
	// FileBytes is the size that the vendor's session file had when the item was marked. The file
	// only grows.
	FileBytes int64 `json:"kept,omitempty"`
}

// stamp marks an item with the vendor's session that contains the item.
func (m vendorMark) stamp(it *transcript.Item) {
	b, err := json.Marshal(m)
	if err != nil {
		return // strings and a number cannot fail
	}
	meta := map[string]json.RawMessage{metadataKey: b}
	maps.Copy(meta, it.Metadata)
	it.Metadata = meta
}

// markOf returns the mark of an item, or the zero mark if the item has none.
func markOf(e transcript.Encoded) (m vendorMark) {
	raw := jsonscan.Object(jsonscan.Object(e.JSON).Field("metadata")).Field(metadataKey)
	if raw == nil || json.Unmarshal(raw, &m) != nil {
		return vendorMark{}
	}
	return m
}
