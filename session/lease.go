package session

import (
	"fmt"
	"time"
)

// Lease is the right to write one session, and to have effects for it. Epoch grows with
// every new holder and is what stores compare. A holder ends what it has under way before
// TTL is over since it took or last renewed the lease, by its own steady clock; whoever
// wants to take over goes by what the store itself knows ([Lease].Left). The times are for
// people: no clock of another machine decides anything.
type Lease struct {
	Epoch   int64         `json:"epoch"`
	Holder  Holder        `json:"holder"`
	Since   time.Time     `json:"since,omitzero"`
	Expires time.Time     `json:"expires,omitzero"` // by the holder's clock; another value after each renewal
	TTL     time.Duration `json:"ttl,omitempty"`    // 0: written by a version that went by Expires

	// Previous is whom the lease was taken from, until that one has given it back: see
	// [Leaser].Release. It has an Epoch and a Holder.
	Previous *Lease `json:"former,omitempty"`

	// Renewed is when the store stored it, in milliseconds of the store's own clock; 0 in
	// stores without one. Only stores write and read it.
	Renewed int64 `json:"renewed,omitempty"`

	// Remaining is how much longer the holder may have something under way, as far as the store
	// knows: by its own clock, or by a lock of the operating system. 0 or less: no longer.
	// Stores set it in leases that they hand out, and do not keep it; nil when they cannot tell.
	Remaining *time.Duration `json:"left,omitempty"`
}

// TakenFrom returns l as taken from another: with who that was.
func (l Lease) TakenFrom(held Lease) Lease {
	l.Previous = &Lease{Epoch: held.Epoch, Holder: held.Holder}
	return l
}

// Stored is l as stores keep it.
func (l Lease) Stored() Lease {
	l.Remaining = nil
	return l
}

// Remains is l with what the store knows of how long it still holds: by the time now of its
// clock, in milliseconds.
func (l Lease) Remains(now int64) Lease {
	l.Remaining = nil
	if l.TTL > 0 && l.Renewed > 0 && now > 0 {
		left := l.TTL - time.Duration(now-l.Renewed)*time.Millisecond
		l.Remaining = &left
	}
	return l
}

// WithLiveness is l as a store hands it out that knows whether the holder has its lock: nil when
// it does not know.
func (l Lease) WithLiveness(locked, known bool) Lease {
	l.Remaining = nil
	if l.TTL > 0 && known {
		left := time.Duration(0)
		if locked {
			left = l.TTL
		}
		l.Remaining = &left
	}
	return l
}

// BusyError says who holds a session. It wraps [ErrBusy].
type BusyError struct {
	Session string
	Lease   Lease
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("session %s is open in %s since %s", e.Session, e.Lease.Holder, e.Lease.Since.Local().Format("2006-01-02 15:04:05"))
}

func (e *BusyError) Unwrap() error { return ErrBusy }
