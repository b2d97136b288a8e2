package session

import (
	"fmt"
	"time"
)

// Lease is the right to write one session and to have effects for it. Epoch grows with every new
// holder, and stores compare it. A holder ends its work before TTL has passed since it took or
// last renewed the lease, measured by its own monotonic clock. A process that wants to take over
// uses what the store itself knows (Remaining). The times are for display: no decision depends on
// the clock of another machine.
type Lease struct {
	Epoch   int64         `json:"epoch"`
	Holder  Holder        `json:"holder"`
	Since   time.Time     `json:"since,omitzero"`
	Expires time.Time     `json:"expires,omitzero"` // by the holder's clock; changes with each renewal
	TTL     time.Duration `json:"ttl,omitempty"`    // 0: written by an older version, which used Expires

	// Previous is the lease this one was taken from, until its holder releases it: see
	// [Leaser].Release. It has an Epoch and a Holder.
	Previous *Lease `json:"former,omitempty"`

	// Renewed is the time of the last write in milliseconds of the store's own clock; 0 in stores
	// without one. Only stores write and read it.
	Renewed int64 `json:"renewed,omitempty"`

	// Remaining is how much longer the holder may have work in progress, as far as the store
	// knows: by its own clock or by a lock of the operating system. 0 or less: no longer. Stores
	// set it in leases they return and do not store it. It is nil if they cannot tell.
	Remaining *time.Duration `json:"left,omitempty"`
}

// TakenFrom returns l with held as its Previous lease.
func (l Lease) TakenFrom(held Lease) Lease {
	l.Previous = &Lease{Epoch: held.Epoch, Holder: held.Holder}
	return l
}

// Stored returns l in the form that stores keep.
func (l Lease) Stored() Lease {
	l.Remaining = nil
	return l
}

// Remains returns l with Remaining set from now, the store's clock in milliseconds.
func (l Lease) Remains(now int64) Lease {
	l.Remaining = nil
	if l.TTL > 0 && l.Renewed > 0 && now > 0 {
		left := l.TTL - time.Duration(now-l.Renewed)*time.Millisecond
		l.Remaining = &left
	}
	return l
}

// WithLiveness returns l with Remaining set from the state of the holder's lock, or nil if that is
// not known.
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

// BusyError is returned when another process holds a session. It wraps [ErrBusy].
type BusyError struct {
	Session string
	Lease   Lease
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("session %s is open in %s since %s", e.Session, e.Lease.Holder, e.Lease.Since.Local().Format("2006-01-02 15:04:05"))
}

func (e *BusyError) Unwrap() error { return ErrBusy }
