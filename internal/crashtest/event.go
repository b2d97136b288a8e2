package crashtest

import (
	"encoding/json"
	"fmt"
	"slices"
)

// What an [Event] tells.
const (
	Leased    = "leased"   // Numbers: the epoch
	Erased    = "erased"   // Numbers: the seqs
	Deleting  = "deleting" // from now on the session may be gone
	Deleted   = "deleted"
	TakenOver = "over"    // the work is; its disk is unmounted next
	Refused   = "refused" // an operation failed; Text: why
)

// Event is something other than an append that a child told.
type Event struct {
	What    string
	Session string  `json:",omitempty"`
	Numbers []int64 `json:",omitempty"`
	Text    string  `json:",omitempty"`
}

// Event tells of an event.
func (r *Reporter) Event(e Event) { r.json("event", e) }

// Reply tells what came of an order.
func (r *Reporter) Reply(p Reply) { r.json("reply", p) }

func (r *Reporter) json(word string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("crashtest: %v", err)) // plain fields cannot fail
	}
	r.line(word, "%s", b)
}

// Acknowledged is everything that a store acknowledged: the evidence against it.
type Acknowledged struct {
	Acked    Evidence
	Leases   map[string]int64 // the highest epoch, by session
	Erased   map[string][]int64
	Deleting map[string]bool // sessions that may be gone
	Deleted  map[string]bool // sessions that are
	Expected int             // records acknowledged
}

// AcknowledgedOf puts a report in order.
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
