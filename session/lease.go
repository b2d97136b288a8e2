package session

import (
	"fmt"
	"time"
)

// Lease is the right to write one session and to have effects for it. Epoch grows with every new
// holder, and stores compare it. A holder ends its work before the TTL is over. The TTL starts when
// the holder takes or renews the lease, and is measured by its own monotonic clock. A process that
// wants to take over the lease uses Remaining, the remaining time that the store itself knows. The
// times are for display: no decision depends on the clock of another machine.
type Lease struct {
	Epoch   int64         `json:"epoch"`
	Holder  Holder        `json:"holder"`
	Since   time.Time     `json:"since,omitzero"`
	Expires time.Time     `json:"expires,omitzero"` // by the holder's clock; changes with each renewal
	TTL     time.Duration `json:"ttl,omitempty"`    // 0 if an older version wrote the lease; it used Expires

	// Previous is the lease that this lease replaced. It is set until the previous holder releases
	// it: see [Leaser].Release. Only its Epoch and Holder are set.
	Previous *Lease `json:"former,omitempty"`

	// Renewed is the time of the last write in milliseconds of the store's own clock; 0 in stores
	// without one. Only stores write and read it.
	Renewed int64 `json:"renewed,omitempty"`

	// Remaining is how much longer the holder may have work in progress. The store determines it
	// from its own clock or from a lock of the operating system. 0 or less means that the holder
	// has no work in progress. Stores set it in the leases that they return and do not store it. It
	// is nil if the store cannot tell.
	Remaining *time.Duration `json:"left,omitempty"`
}

// TakenFrom returns l with held as its Previous lease.
func (l Lease) TakenFrom(held Lease) Lease {
	l.Previous = &Lease{Epoch: held.Epoch, Holder: held.Holder}
	return l
}

// Stored returns l in the form in which stores keep it.
func (l Lease) Stored() Lease {
	l.Remaining = nil
	return l
}

// Remains returns l with Remaining computed from now, the time of the store's clock in
// milliseconds.
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
