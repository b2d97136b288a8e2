// Package credentials finds the keys that sign requests to AWS and to servers with AWS interfaces.
// It renews the keys before they expire.
//
//	environment ─► files ─► role of the machine
//	AWS_…, MINIO_…   ~/.aws, ~/.mc   web identity, container, EC2
//
// A source that is not set up is skipped. If a source is set up but provides no keys, that is an
// error, unless a later source provides keys. Requests are never sent unsigned because of such an
// error.
//
// Source: "Standardized credential providers", AWS SDKs and tools reference guide.
package credentials

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/aws/sigv4"
)

// Chain finds keys in the first source that has keys. It caches them until shortly before they
// expire. It is safe for concurrent use.
type Chain struct {
	sources []source
	now     func() time.Time

	lock    chan struct{} // held while the fields below are read or changed
	known   bool
	keys    sigv4.Keys // empty: none
	expires time.Time  // zero: never
	refresh time.Time  // time of the next search for keys; zero: never
}

// source is a place where keys may be found.
type source struct {
	name string
	find func(context.Context) (found, error)
}

// found is what a source returned.
type found struct {
	keys    sigv4.Keys
	expires time.Time // zero: never
}

// errNone means that a source is not set up.
var errNone = errors.New("not set up")

// errGone means that keys have expired, and that the source from which they came no longer exists.
// Unsigned requests would act with a different identity.
var errGone = &Error{
	Source: "the previous source", Err: errors.New("the source is no longer set up"), Remote: true,
	Hint: "check that the environment, the AWS files or the machine's role provides keys",
}

// Error is the reason why a source that is set up provided no keys.
type Error struct {
	Source string // "profile work", "EC2 role", …
	Err    error
	Hint   string
	Remote bool // a server did not answer, or did not answer in time: a retry may succeed
}

func (e *Error) Error() string { return "no keys from " + e.Source + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Static returns a chain with fixed keys that do not expire.
func Static(k sigv4.Keys) *Chain {
	return newChain(source{"the URL", func(context.Context) (found, error) { return found{keys: k}, nil }})
}

// Profile returns a chain with the keys of a profile of the AWS files.
func Profile(name string) *Chain {
	return newChain(source{"profile " + name, func(ctx context.Context) (found, error) {
		f, err := awsEndpoints.profile(ctx, name)
		if errors.Is(err, errNone) { // it was requested explicitly
			err = errNoKeys
		}
		return f, err
	}})
}

// Default returns a chain that uses the first keys that it finds. It searches the environment, then
// the AWS and MinIO files, then the role of the program or the machine.
func Default() *Chain { return awsEndpoints.chain() }

// chain returns the default chain.
func (e endpoints) chain() *Chain {
	return newChain(
		source{"the environment", environment},
		source{"the AWS files", e.files},
		source{"the MinIO client's file", minioFile},
		source{"the role", e.role},
	)
}

func newChain(sources ...source) *Chain {
	return &Chain{sources: sources, now: time.Now, lock: make(chan struct{}, 1)}
}

const (
	// searchTime is the time limit of a search for keys.
	searchTime = time.Minute
	// searchInterval is the time until the next search, if there were no keys, or if they could not be
	// refreshed while the old keys are valid.
	searchInterval = time.Minute
)

// Get returns the keys with which to sign a request. They have no ID if no source is set up.
func (c *Chain) Get(ctx context.Context) (sigv4.Keys, error) {
	select {
	case c.lock <- struct{}{}:
		defer func() { <-c.lock }()
	case <-ctx.Done():
		return sigv4.Keys{}, ctx.Err()
	}
	now := c.now()
	if c.known && (c.refresh.IsZero() || now.Before(c.refresh)) {
		return c.keys, nil
	}
	look, stop := context.WithTimeout(ctx, searchTime)
	defer stop()
	f, err := c.find(look)
	if err == nil && f.keys.ID == "" && c.keys.ID != "" {
		err = errGone
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return sigv4.Keys{}, ctx.Err()
	case c.known && c.keys.ID != "" && now.Before(c.expires):
		c.refresh = now.Add(searchInterval)
		return c.keys, nil
	default:
		return sigv4.Keys{}, err
	}
	c.known, c.keys, c.expires, c.refresh = true, f.keys, f.expires, time.Time{}
	switch {
	case f.keys.ID == "":
		c.refresh = now.Add(searchInterval)
	case !f.expires.IsZero():
		left := f.expires.Sub(now)
		c.refresh = now.Add(left - left/5)
	}
	return c.keys, nil
}

// Expired is called after a server rejected keys as expired: the next Get searches for keys again.
func (c *Chain) Expired(k sigv4.Keys) {
	c.lock <- struct{}{}
	if c.keys == k && !c.expires.IsZero() {
		c.known = false
	}
	<-c.lock
}

// find tries the sources in order.
func (c *Chain) find(ctx context.Context) (found, error) {
	var first error
	for _, s := range c.sources {
		f, err := s.find(ctx)
		switch {
		case errors.Is(err, errNone):
			continue
		case err == nil && (f.keys.ID == "" || f.keys.Secret == ""):
			err = errors.New("the response has no keys")
		case err == nil:
			return f, nil
		}
		e, ok := errors.AsType[*Error](err)
		if !ok {
			e = &Error{Source: s.name, Err: err}
		}
		if e.Source == "" {
			e.Source = s.name
		}
		if _, half := errors.AsType[halfError](err); half {
			return found{}, e
		}
		if first == nil {
			first = e
		}
		if ctx.Err() != nil {
			break
		}
	}
	return found{}, first
}

// halfError is the error for two variables of which only one is set.
type halfError struct{ there, missing string }

func (e halfError) Error() string { return fmt.Sprintf("%s is set and %s is not", e.there, e.missing) }
