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

// Mapping is the payload of a vendor.mapped record: from here on the session is, to the
// vendor, the one with this id. Each generation has an id that none had before.
type Mapping struct {
	Vendor      string `json:"vendor"`
	Session     string `json:"session"` // the vendor's id; "" until it has said which
	Generation  int    `json:"generation"`
	Workspace   string `json:"workspace,omitempty"`
	WorkspaceID string `json:"workspace_id,omitempty"`
	// Reason says why there is a new one: "new", or what was wrong with the one before.
	Reason string `json:"reason"`
}

// The events of a workspace.
const (
	EventResumeFailed = "resume_failed" // the vendor's session could not be gone on with
	EventVendorEnded  = "vendor_ended"  // the vendor's process ended in the middle of a turn
	EventDeleted      = "deleted"       // the workspace was deleted; the session stays
)

// Event is the payload of a workspace.event record.
type Event struct {
	Event       string `json:"event"`
	Workspace   string `json:"workspace,omitempty"`
	WorkspaceID string `json:"workspace_id,omitempty"`
	Vendor      string `json:"vendor,omitempty"`
	Session     string `json:"session,omitempty"` // the vendor's id
	Reason      string `json:"reason,omitempty"`
	OOM         bool   `json:"oom,omitempty"`    // it ran out of memory
	Stderr      string `json:"stderr,omitempty"` // the end of what it wrote there
}

// readMapping reads a record's mapping. ok is false of other records, those that an
// import of a vendor's files leaves among them.
func readMapping(r *session.Record) (m Mapping, ok bool) {
	if r.Kind != record.KindVendorMapped || r.Payload == nil || json.Unmarshal(r.Payload, &m) != nil {
		return Mapping{}, false
	}
	return m, m.Generation > 0
}

// vendorSessions is what a session's log says about the vendor's sessions.
type vendorSessions struct {
	last     *Mapping // of this vendor here, nil when there is none
	changed  bool     // the transcript was rewritten since
	newest   int      // generation, of any vendor and place
	sessions map[string]bool
}

// readKnown reads a session's own records: what a fork has from its parent is the
// parent's, and so is the vendor's session of it.
func readKnown(ctx context.Context, s *session.Sessions, id, vendor, workspaceID string) (vendorSessions, error) {
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

// metadataKey is where an item says which vendor's session has it.
const metadataKey = "vendor"

// vendorMark is what an item of a vendor says about where it is from.
type vendorMark struct {
	Name    string `json:"name"`
	Session string `json:"session"`
	// FileBytes is how many bytes the vendor's file of the session had by then. It only grows.
	FileBytes int64 `json:"kept,omitempty"`
}

// stamp notes on an item which session of the vendor has it.
func (m vendorMark) stamp(it *transcript.Item) {
	b, err := json.Marshal(m)
	if err != nil {
		return // plain strings and a number cannot fail
	}
	meta := map[string]json.RawMessage{metadataKey: b}
	maps.Copy(meta, it.Metadata)
	it.Metadata = meta
}

// markOf reads an item's mark; the zero one when it has none.
func markOf(e transcript.Encoded) (m vendorMark) {
	raw := jsonscan.Object(jsonscan.Object(e.JSON).Field("metadata")).Field(metadataKey)
	if raw == nil || json.Unmarshal(raw, &m) != nil {
		return vendorMark{}
	}
	return m
}
