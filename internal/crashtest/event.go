package crashtest

import (
	"encoding/json"
	"fmt"
	"slices"
)

// The kinds of an [Event].
const (
	Leased   = "leased"   // Numbers: the epoch
	Erased   = "erased"   // Numbers: the seqs
	Deleting = "deleting" // from this event on, the session may be deleted
	Deleted  = "deleted"
	WorkDone = "over"    // the work is done; next, its disk is unmounted
	Refused  = "refused" // an operation failed; Text contains the reason
)

// Event is a report of a child about something other than an append.
type Event struct {
	What    string
	Session string  `json:",omitempty"`
	Numbers []int64 `json:",omitempty"`
	Text    string  `json:",omitempty"`
}

// Event reports an event.
func (r *Reporter) Event(e Event) { r.json("event", e) }

// Reply reports the result of a command.
func (r *Reporter) Reply(p Reply) { r.json("reply", p) }

func (r *Reporter) json(word string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("crashtest: %v", err)) // plain fields cannot fail
	}
	r.line(word, "%s", b)
}

// Acknowledged is everything that a store acknowledged. It is compared with the content of the
// store.
type Acknowledged struct {
	Acked    Evidence
	Leases   map[string]int64 // the highest epoch, by session
	Erased   map[string][]int64
	Deleting map[string]bool // sessions that may be deleted
	Deleted  map[string]bool // sessions that are deleted
	Expected int             // number of acknowledged records
}

// AcknowledgedOf collects the acknowledgements of a report.
func AcknowledgedOf(r *Report) *Acknowledged {
	p := &Acknowledged{Acked: Evidence{}, Leases: map[string]int64{}, Erased: map[string][]int64{}, Deleting: map[string]bool{}, Deleted: map[string]bool{}}
	p.Acked.Add(r.Acks)
	p.Expected = len(r.Acks)
	for _, e := range r.Events {
		switch e.What {
		case Leased:
			p.Leases[e.Session] = max(p.Leases[e.Session], e.Numbers[0])
		case Erased:
			p.Erased[e.Session] = append(p.Erased[e.Session], e.Numbers...)
		case Deleting:
			p.Deleting[e.Session] = true
		case Deleted:
			p.Deleted[e.Session] = true
		}
	}
	for id := range p.Erased {
		slices.Sort(p.Erased[id])
	}
	return p
}
